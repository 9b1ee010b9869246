import { type Ask, askReporter, inTurn, int32, repeater, reporter, type Scenario, signature } from '../scenario.ts';
import { askEnsemble, countedSignature, ensemble, repeats, step, tensor } from './ensemble-models.ts';

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
  {
    name: 'cache: of an ensemble, some of its outputs',
    models: [
      step('kept_sides', { add: '1' }, { outputs: [tensor('Y'), tensor('Z')] }),
      ensemble('kept_pair', `max_batch_size: 4\n${cached}\n${signature([tensor('IN')], [tensor('OUT'), tensor('SIDE')])}`, [
        { model: 'kept_sides', inputs: { X: 'IN' }, outputs: { Y: 'OUT', Z: 'SIDE' } },
      ]),
    ],
    asks: inTurn([[], ['OUT'], ['OUT']].map((outputs, index) => askEnsemble('kept_pair', `r${index}`, 150 * index, 1, { outputs }))),
  },
  {
    name: 'cache: of an ensemble that fails',
    models: [
      step('kept_broken', {}),
      ensemble('kept_failing', `max_batch_size: 4\n${cached}\n${signature([tensor('IN')], [tensor('OUT')])}`, [
        { model: 'kept_broken', inputs: { X: 'IN' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn(['a', 'b'].map((id, index) => askEnsemble('kept_failing', id, 150 * index, 1, { values: { fail: 'kept_broken' } }))),
  },
  {
    name: 'cache: of a step that a decoupled ensemble asks for each row',
    models: [
      repeater('kept_rows_1'),
      step('kept_rows_2', { add: '100' }, { rows: 0, more: cached }),
      ensemble('kept_rows', countedSignature(tensor('OUT')), [
        repeats('kept_rows_1', 'middle'),
        { model: 'kept_rows_2', inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn(
      ['a', 'b'].map((id, index) => ({
        atMs: 150 * index,
        id,
        model: 'kept_rows',
        inputs: { COUNT: int32([1], 2), WAIT: int32([1], 100) },
        parameters: { triton_enable_empty_final_response: { bool_param: true } },
        stream: 's',
      })),
    ),
  },
];
