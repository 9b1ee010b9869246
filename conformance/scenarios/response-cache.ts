import { type Ask, askReporter, inTurn, int32, reporter, type Scenario, signature } from '../scenario.ts';
import { ensemble, step, tensor } from './ensembles.ts';

const cached = 'response_cache { enable: true }';
const value = 'name: "VALUE" data_type: TYPE_INT32 dims: [ -1 ]';

const ask = (model: string, id: string, atMs: number, values: readonly number[], more: Partial<Ask> = {}): Ask => ({
  ...askReporter(model, id, atMs, { inputs: { VALUE: int32([1, values.length], ...values) } }),
  ...more,
});

const text = 'name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]';

export const responseCache: readonly Scenario[] = [
  {
    name: 'cache: equal and other requests',
    models: [reporter('kept_answers', `max_batch_size: 4\n${cached}`, [value])],
    asks: inTurn([[1], [1], [2], [1], [2]].map((values, index) => ask('kept_answers', `r${index}`, 120 * index, values))),
  },
  {
    name: 'cache: with dynamic batching',
    models: [reporter('kept_batches', `max_batch_size: 4\n${cached}\ndynamic_batching { max_queue_delay_microseconds: 200000 }`, [value])],
    asks: [
      ask('kept_batches', 'a', 0, [1]),
      ask('kept_batches', 'b', 60, [2]),
      ask('kept_batches', 'c', 500, [2]),
      ask('kept_batches', 'd', 560, [3]),
      ask('kept_batches', 'e', 620, [1]),
    ],
  },
  {
    name: 'cache: over a stream',
    models: [reporter('kept_stream', `max_batch_size: 4\n${cached}`, [value])],
    asks: inTurn(['a', 'b'].map((id, index) => ask('kept_stream', id, 150 * index, [1], { stream: 's' }))),
  },
  {
    name: 'cache: other parameters',
    models: [reporter('kept_parameters', `max_batch_size: 4\n${cached}`, [value])],
    asks: inTurn(
      ['a', 'b', 'c'].map((id, index) =>
        ask('kept_parameters', id, 150 * index, [1], index === 1 ? { parameters: { mine: { string_param: 'x' } } } : {}),
      ),
    ),
  },
  {
    name: 'cache: what fails is not kept',
    models: [reporter('kept_failures', `max_batch_size: 4\n${cached}`, [value])],
    asks: inTurn(
      ['a', 'b'].map((id, index) => ask('kept_failures', id, 200 * index, [1], { parameters: { fail: { string_param: 'raise' } } })),
    ),
  },
  {
    name: 'cache: not enabled for the model',
    models: [reporter('kept_not', 'max_batch_size: 4', [value])],
    asks: inTurn(['a', 'b'].map((id, index) => ask('kept_not', id, 150 * index, [1]))),
  },
  {
    name: 'cache: of an ensemble',
    models: [
      step('kept_inner', { add: '1' }),
      ensemble('kept_outer', `max_batch_size: 4\n${cached}\n${signature([tensor('IN')], [tensor('OUT')])}`, [
        { model: 'kept_inner', inputs: { X: 'IN' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn(
      [1, 1, 2].map((number, index) => ({
        atMs: 150 * index,
        id: `r${index}`,
        model: 'kept_outer',
        inputs: { IN: int32([1, 1], number) },
      })),
    ),
  },
  {
    name: 'cache: of a step within an ensemble',
    models: [
      reporter('kept_step', `max_batch_size: 4\n${cached}`),
      ensemble('kept_whole', `max_batch_size: 4\n${signature([tensor('IN')], [text])}`, [
        { model: 'kept_step', inputs: { WAIT: 'IN' }, outputs: { REPORT: 'REPORT' } },
      ]),
    ],
    asks: inTurn(
      [0, 0, 1].map((number, index) => ({
        atMs: 150 * index,
        id: `r${index}`,
        model: 'kept_whole',
        inputs: { IN: int32([1, 1], number) },
      })),
    ),
  },
];
