import { type Ask, inTurn, int32, parameters, pythonModel, type Scenario, type ScenarioModel, signature } from '../scenario.ts';

const countdown = (name: string, isDecoupled: boolean, strategy: string): ScenarioModel =>
  pythonModel(
    name,
    'countdown',
    `max_batch_size: 4
${signature(['name: "COUNT" data_type: TYPE_INT32 dims: [ 1 ]'], ['name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]'])}
model_transaction_policy { decoupled: ${isDecoupled} }
sequence_batching {
  iterative_sequence: true
  ${strategy}
  control_input [ { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } } ]
}`,
  );

const ask = (model: string, id: string, atMs: number, count: number, more: Partial<Ask> = {}): Ask => ({
  atMs,
  id,
  model,
  inputs: { COUNT: int32([1, 1], count) },
  ...more,
});

/** Models that ask for a request to run again. */
export const iterative: readonly Scenario[] = [
  {
    name: 'iterative: decoupled, an answer of each step',
    models: [countdown('steps_answer', true, 'oldest { max_candidate_sequences: 4 }')],
    asks: inTurn([ask('steps_answer', 'a', 0, 3, { stream: 's' }), ask('steps_answer', 'b', 300, 1, { stream: 's' })]),
  },
  {
    name: 'iterative: one answer at the last step',
    models: [countdown('steps_last', false, 'oldest { max_candidate_sequences: 4 }')],
    asks: inTurn([ask('steps_last', 'a', 0, 3), ask('steps_last', 'b', 300, 1)]),
  },
  {
    name: 'iterative: direct',
    models: [countdown('steps_direct', true, 'direct { }')],
    asks: inTurn([ask('steps_direct', 'a', 0, 3, { stream: 's' }), ask('steps_direct', 'b', 300, 2, { stream: 's' })]),
  },
  {
    name: 'iterative: with an id of the caller',
    models: [countdown('steps_id', true, 'oldest { max_candidate_sequences: 4 }')],
    asks: [ask('steps_id', 'a', 0, 2, { stream: 's', parameters: parameters({ sequence_id: 77, sequence_start: true }) })],
  },
];
