import { inTurn, int32, reporter, type Scenario, signature } from '../scenario.ts';
import { askEnsemble as ask, chain, ensemble, fan, inOut, reportTensor, step, tensor, told } from './ensemble-models.ts';

const start = 'control_input [ { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } } ]';
const maybe = tensor('MORE', '1', 'optional: true');

const plain: readonly Scenario[] = [
  {
    name: 'ensemble: two steps, several requests',
    models: [step('chain_1', { add: '1' }), step('chain_2', { add: '10' }), chain('chain')],
    asks: inTurn([ask('chain', 'a', 0, 1), ask('chain', 'b', 150, 2), ask('chain', 'c', 300, 3, { stream: 's' })]),
  },
  {
    name: 'ensemble: several rows',
    models: [step('tall_1', { add: '1' }), step('tall_2', { add: '10' }), chain('tall')],
    asks: inTurn([ask('tall', 'a', 0, 0, { inputs: { IN: int32([3, 1], 1, 2, 3) } }), ask('tall', 'b', 150, 2)]),
  },
  {
    name: 'ensemble: fan-out and join',
    models: fan('fan'),
    asks: inTurn([ask('fan', 'a', 0, 1), ask('fan', 'b', 500, 2, { outputs: ['OUT', 'LEFT'] })]),
  },
  {
    name: 'ensemble: some of the outputs',
    models: fan('some'),
    asks: inTurn([ask('some', 'a', 0, 1, { outputs: ['LEFT'] }), ask('some', 'b', 500, 1, { outputs: ['OUT'] })]),
  },
  {
    name: 'ensemble: one of the outputs of a step',
    models: [
      step('either_1', { add: '1' }, { outputs: [tensor('Y'), tensor('Z')] }),
      step('either_2', { add: '10' }, { inputs: [tensor('X'), maybe] }),
      ensemble('either', `max_batch_size: 4\n${signature([tensor('IN')], [tensor('OUT'), tensor('SIDE')])}`, [
        { model: 'either_1', inputs: { X: 'IN' }, outputs: { Y: 'middle', Z: 'SIDE' } },
        { model: 'either_2', inputs: { X: 'middle', MORE: 'SIDE' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn([ask('either', 'a', 0, 1), ask('either', 'b', 150, 1, { outputs: ['OUT'] })]),
  },
  {
    name: 'ensemble: an output that is an input',
    models: [
      step('echoed_1', { add: '1' }),
      ensemble('echoed', `max_batch_size: 4\n${signature([tensor('IN')], [tensor('OUT'), tensor('IN')])}`, [
        { model: 'echoed_1', inputs: { X: 'IN' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn([ask('echoed', 'a', 0, 1)]),
  },
  {
    name: 'ensemble: one tensor for two inputs of a step',
    models: [
      step('doubled_1', {}, { inputs: [tensor('A'), tensor('B')] }),
      ensemble('doubled', inOut(), [{ model: 'doubled_1', inputs: { A: 'IN', B: 'IN' }, outputs: { Y: 'OUT' } }]),
    ],
    asks: inTurn([ask('doubled', 'a', 0, 4)]),
  },
  {
    name: 'ensemble: a wrong request',
    models: [step('wrong_1', {}), step('wrong_2', {}), chain('wrong')],
    asks: inTurn([
      ask('wrong', 'rows', 0, 1, { inputs: { IN: int32([5, 1], 1, 2, 3, 4, 5) } }),
      ask('wrong', 'shape', 60, 1, { inputs: { IN: int32([1, 2], 1, 2) } }),
      ask('wrong', 'name', 120, 1, { inputs: { OTHER: int32([1, 1], 1) } }),
      ask('wrong', 'none', 180, 1, { inputs: {} }),
      ask('wrong', 'output', 240, 1, { outputs: ['OTHER'] }),
    ]),
  },
  {
    name: 'ensemble: a step that does not give its output',
    models: [step('gives_1', { leave_out: 'Y' }), step('gives_2', {}), chain('gives')],
    asks: [ask('gives', 'a', 0, 1)],
  },
  {
    name: 'ensemble: priority, time-out, id and parameters reach the step',
    models: [reporter('told_1', 'max_batch_size: 1'), told('told')],
    asks: [
      ask('told', 'a', 0, 0, {
        values: { mine: 'x', number: 5, sequence_id: 9, sequence_start: true, sequence_end: true, priority: 1, timeout: 5_000_000 },
      }),
    ],
  },
  {
    name: 'ensemble: what the request says reaches the step of one within another',
    models: [
      reporter('deep_in_1', 'max_batch_size: 1'),
      told('deep_in'),
      ensemble('deep', `max_batch_size: 1\n${signature([tensor('IN')], [reportTensor])}`, [
        { model: 'deep_in', inputs: { IN: 'IN' }, outputs: { REPORT: 'REPORT' } },
      ]),
    ],
    asks: [ask('deep', 'a', 0, 0, { values: { mine: 'x', sequence_id: 9, sequence_start: true, timeout: 5_000_000 } })],
  },
  {
    name: 'ensemble: one within another',
    models: [
      step('inner_1', { add: '1' }),
      step('inner_2', { add: '10' }),
      chain('inner'),
      step('outer_2', { add: '100' }),
      ensemble('outer', inOut(), [
        { model: 'inner', inputs: { IN: 'IN' }, outputs: { OUT: 'middle' } },
        { model: 'outer_2', inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn([ask('outer', 'a', 0, 1), ask('outer', 'b', 200, 1, { values: { fail: 'inner_2' } })]),
  },
  {
    name: 'ensemble: with and without batch dimension',
    models: [
      step('flat_1', { add: '1' }, { rows: 0, inputs: [tensor('X', '1')], outputs: [tensor('Y', '1')] }),
      step('flat_2', { add: '10' }),
      ensemble('flat', `max_batch_size: 0\n${signature([tensor('IN', '1')], [tensor('OUT', '1')])}`, [
        { model: 'flat_1', inputs: { X: 'IN' }, outputs: { Y: 'middle' } },
        { model: 'flat_2', inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: [ask('flat', 'a', 0, 1, { inputs: { IN: int32([1], 5) } })],
  },
  {
    name: 'ensemble: requests share a batch of a step',
    models: [reporter('shared_1', 'max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 400000 }'), told('shared', 4)],
    asks: ['a', 'b', 'c'].map((id, index) => ask('shared', id, 80 * index, 0)),
  },
];

const optional: readonly Scenario[] = [
  {
    name: 'ensemble: an optional input',
    models: [
      step('maybe_1', { add: '1' }, { inputs: [tensor('X'), maybe] }),
      ensemble('maybe', `max_batch_size: 4\n${signature([tensor('IN'), tensor('EXTRA', '1', 'optional: true')], [tensor('OUT')])}`, [
        { model: 'maybe_1', inputs: { X: 'IN', MORE: 'EXTRA' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn([
      ask('maybe', 'without', 0, 1),
      ask('maybe', 'with', 200, 1, { inputs: { IN: int32([1, 1], 1), EXTRA: int32([1, 1], 50) } }),
    ]),
  },
  {
    name: 'ensemble: an optional input that several steps take',
    models: [
      step('maybes_1', { add: '1' }, { inputs: [tensor('X'), maybe] }),
      step('maybes_2', { add: '10' }, { inputs: [tensor('X'), maybe] }),
      ensemble('maybes', `max_batch_size: 4\n${signature([tensor('EXTRA', '1', 'optional: true'), tensor('IN')], [tensor('OUT')])}`, [
        { model: 'maybes_1', inputs: { X: 'IN', MORE: 'EXTRA' }, outputs: { Y: 'middle' } },
        { model: 'maybes_2', inputs: { X: 'middle', MORE: 'EXTRA' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn([
      ask('maybes', 'without', 0, 1, { inputs: { IN: int32([2, 1], 1, 2) } }),
      ask('maybes', 'with', 200, 1, { inputs: { IN: int32([1, 1], 1), EXTRA: int32([1, 1], 50) } }),
      ask('maybes', 'alone', 400, 1, { inputs: { EXTRA: int32([1, 1], 50) } }),
    ]),
  },
  {
    name: 'ensemble: an optional input of a step gets an output that is not given',
    models: [
      step('lacks_1', { add: '1', leave_out: 'Z' }, { outputs: [tensor('Y'), tensor('Z')] }),
      step('lacks_2', { add: '10' }, { inputs: [tensor('X'), maybe] }),
      ensemble('lacks', `max_batch_size: 4\n${signature([tensor('IN')], [tensor('OUT'), tensor('SIDE')])}`, [
        { model: 'lacks_1', inputs: { X: 'IN' }, outputs: { Y: 'middle', Z: 'SIDE' } },
        { model: 'lacks_2', inputs: { X: 'middle', MORE: 'SIDE' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn([ask('lacks', 'a', 0, 1)]),
  },
  {
    name: 'ensemble: an optional input for one that is required',
    models: [
      step('needs_1', { add: '1' }, { inputs: [tensor('A'), tensor('B')] }),
      ensemble('needs', `max_batch_size: 4\n${signature([tensor('IN'), tensor('EXTRA', '1', 'optional: true')], [tensor('OUT')])}`, [
        { model: 'needs_1', inputs: { A: 'IN', B: 'EXTRA' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: inTurn([
      ask('needs', 'without', 0, 1),
      ask('needs', 'with', 200, 1, { inputs: { IN: int32([1, 1], 1), EXTRA: int32([1, 1], 50) } }),
    ]),
  },
];

const inSequence = (model: string) =>
  inTurn([
    ask(model, 'a0', 0, 0, { values: { sequence_id: 3, sequence_start: true } }),
    ask(model, 'a1', 150, 0, { values: { sequence_id: 3 } }),
    ask(model, 'a2', 300, 0, { values: { sequence_id: 3, sequence_end: true } }),
    ask(model, 'lost', 450, 0, { values: { sequence_id: 3 } }),
    ask(model, 'none', 600, 0),
  ]);

const sequence: readonly Scenario[] = [
  {
    name: 'ensemble: a step that is a sequence model',
    models: [reporter('kept_1', `max_batch_size: 2\nsequence_batching { direct { } ${start} }`), told('kept')],
    asks: inSequence('kept'),
  },
  {
    name: 'ensemble: a step that is a sequence model, the oldest first',
    models: [reporter('aged_1', `max_batch_size: 2\nsequence_batching { oldest { max_candidate_sequences: 2 } ${start} }`), told('aged')],
    asks: inSequence('aged'),
  },
];

export const ensembles: readonly Scenario[] = [...plain, ...optional, ...sequence];
