import { type Ask, int32, parameters, pythonModel, repeater, reporter, type Scenario, type ScenarioModel, signature } from '../scenario.ts';
import { countedSignature, ensemble, repeatedRows, repeats, reportTensor, step, tensor } from './ensemble-models.ts';

const ask = (
  id: string,
  model: string,
  count: number,
  {
    values = {},
    waitMs = 150,
    atMs = 0,
    ...more
  }: Partial<Ask> & { readonly values?: Readonly<Record<string, number | string | boolean>>; readonly waitMs?: number } = {},
): Ask => ({
  atMs,
  id,
  model,
  inputs: { COUNT: int32([1], count), WAIT: int32([1], waitMs) },
  parameters: parameters({ triton_enable_empty_final_response: true, ...values }),
  stream: 's',
  ...more,
});

const ones = (name: string): ScenarioModel =>
  pythonModel(name, 'ones', `${signature([tensor('COUNT')], [tensor('OUT')])}\nmodel_transaction_policy { decoupled: true }`);

const onesThenOnes = (name: string, first: string, second: string): ScenarioModel =>
  ensemble(name, `max_batch_size: 0\n${signature([tensor('COUNT')], [tensor('OUT')])}`, [
    { model: first, inputs: { COUNT: 'COUNT' }, outputs: { OUT: 'middle' } },
    { model: second, inputs: { COUNT: 'middle' }, outputs: { OUT: 'OUT' } },
  ]);

/** Ensembles with steps that answer many times. */
export const decoupledEnsembles: readonly Scenario[] = [
  {
    name: 'ensemble: a decoupled step, rows one by one',
    models: repeatedRows('rows', { add: '100' }),
    asks: [ask('a', 'rows', 3)],
  },
  {
    name: 'ensemble: a decoupled step without answers',
    models: repeatedRows('none'),
    asks: [ask('a', 'none', 0)],
  },
  {
    name: 'ensemble: a decoupled step that is the last',
    models: [repeater('tail_1'), ensemble('tail', countedSignature(tensor('OUT')), [repeats('tail_1', 'OUT')])],
    asks: [ask('a', 'tail', 2)],
  },
  {
    name: 'ensemble: a decoupled step that says which answer is its last',
    models: repeatedRows('said'),
    asks: [ask('a', 'said', 2, { values: { final: 'last' } })],
  },
  {
    name: 'ensemble: two requests for a decoupled step at once',
    models: repeatedRows('twins', { add: '100' }),
    asks: [ask('a', 'twins', 3, { waitMs: 200 }), ask('b', 'twins', 2, { waitMs: 200, atMs: 100 })],
  },
  {
    name: 'ensemble: fan-out and join behind a decoupled step',
    models: [
      repeater('split_1'),
      step('split_left', { add: '10' }, { rows: 0 }),
      step('split_right', { add: '100' }, { rows: 0 }),
      step('split_join', { wait_ms: '60' }, { rows: 0, inputs: [tensor('A'), tensor('B')] }),
      ensemble('split', countedSignature(tensor('OUT'), tensor('LEFT')), [
        repeats('split_1', 'middle'),
        { model: 'split_left', inputs: { X: 'middle' }, outputs: { Y: 'LEFT' } },
        { model: 'split_right', inputs: { X: 'middle' }, outputs: { Y: 'right' } },
        { model: 'split_join', inputs: { A: 'LEFT', B: 'right' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: [ask('a', 'split', 3), ask('b', 'split', 0, { atMs: 1000 })],
  },
  {
    name: 'ensemble: a decoupled step behind another one',
    models: [
      repeater('twice_1'),
      repeater('twice_2'),
      ensemble('twice', countedSignature(tensor('OUT')), [
        repeats('twice_1', 'middle'),
        { model: 'twice_2', inputs: { COUNT: 'middle', WAIT: 'middle' }, outputs: { OUT: 'OUT' } },
      ]),
    ],
    asks: [ask('a', 'twice', 4)],
  },
  {
    name: 'ensemble: two that ask two decoupled models in opposite order',
    models: [
      ones('crossed_1'),
      ones('crossed_2'),
      onesThenOnes('crossed_there', 'crossed_1', 'crossed_2'),
      onesThenOnes('crossed_back', 'crossed_2', 'crossed_1'),
    ],
    asks: ['there', 'back'].map((way) => ({ ...ask(way, `crossed_${way}`, 1000, { stream: way }), inputs: { COUNT: int32([1], 1000) } })),
  },
  {
    name: 'ensemble: a decoupled one within another',
    models: [
      ...repeatedRows('within', { add: '100' }),
      step('around_2', { add: '1000' }, { rows: 0 }),
      ensemble('around', countedSignature(tensor('OUT')), [
        repeats('within', 'middle'),
        { model: 'around_2', inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: [ask('a', 'around', 3), ask('b', 'around', 0, { atMs: 1000 })],
  },
  {
    name: 'ensemble: rows of a decoupled step share a batch',
    models: [
      repeater('lots_1'),
      reporter('lots_2', 'max_batch_size: 4\ndynamic_batching { preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 900000 }'),
      ensemble('lots', countedSignature(reportTensor), [
        repeats('lots_1', 'middle'),
        { model: 'lots_2', inputs: { WAIT: 'middle' }, outputs: { REPORT: 'REPORT' } },
      ]),
    ],
    asks: [ask('a', 'lots', 3, { waitMs: 50 })],
    // Rows of one request have one id.
    varies: /says\.together/,
  },
  {
    name: 'ensemble: a decoupled one over a unary call',
    models: repeatedRows('once'),
    asks: [{ ...ask('a', 'once', 1), stream: undefined }].map(({ stream: _, ...unary }) => unary),
  },
  {
    name: 'ensemble: a step behind a decoupled one fails',
    models: repeatedRows('stumbles'),
    asks: [ask('a', 'stumbles', 3, { values: { fail: 'stumbles_2' } })],
  },
  {
    name: 'decoupled: with preserved order',
    models: [repeater('lined', 'dynamic_batching { preserve_ordering: true }', 4)],
    asks: ['a', 'b'].map((id, index) => ({
      ...ask(id, 'lined', 2, { waitMs: index === 0 ? 400 : 0, atMs: 150 * index }),
      inputs: { COUNT: int32([1, 1], 2), WAIT: int32([1, 1], index === 0 ? 400 : 0) },
    })),
  },
];
