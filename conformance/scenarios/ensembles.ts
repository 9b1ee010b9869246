import {
  type Ask,
  configParameters,
  inTurn,
  int32,
  parameters,
  pythonModel,
  repeater,
  reporter,
  type Scenario,
  type ScenarioModel,
  signature,
} from '../scenario.ts';

export interface Step {
  readonly model: string;
  /** From the model's names to the ensemble's. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
}

const map = (name: string, entries: Readonly<Record<string, string>>): string =>
  Object.entries(entries)
    .map(([key, value]) => `${name} { key: "${key}" value: "${value}" }`)
    .join(' ');

const stepText = ({ model, inputs, outputs }: Step): string =>
  `{ model_name: "${model}" model_version: -1 ${map('input_map', inputs)} ${map('output_map', outputs)} }`;

/** `signatureText` is the ensemble's input and output, and what its config says besides. */
export const ensemble = (name: string, signatureText: string, steps: readonly Step[], more = ''): ScenarioModel => ({
  name,
  config: `platform: "ensemble"\n${signatureText}\nensemble_scheduling { ${more} step [ ${steps.map(stepText).join(', ')} ] }\n`,
  files: {},
});

export const tensor = (name: string, dims = '1', more = ''): string => `name: "${name}" data_type: TYPE_INT32 dims: [ ${dims} ] ${more}`;

export const step = (
  name: string,
  values: Readonly<Record<string, string>>,
  { rows = 4, inputs = [tensor('X')], outputs = [tensor('Y')], more = '' } = {},
): ScenarioModel =>
  pythonModel(name, 'step', `max_batch_size: ${rows}\n${signature(inputs, outputs)}\n${configParameters(values)}\n${more}`);

const inOut = (rows = 4): string => `max_batch_size: ${rows}\n${signature([tensor('IN')], [tensor('OUT')])}`;

interface Options {
  readonly values?: Readonly<Record<string, number | string | boolean>>;
  readonly outputs?: readonly string[];
  readonly stream?: string;
  readonly inputs?: Ask['inputs'];
}

const ask = (model: string, id: string, atMs: number, value: number, { values = {}, inputs, ...more }: Options = {}): Ask => ({
  atMs,
  id,
  model,
  inputs: inputs ?? { IN: int32([1, 1], value) },
  parameters: parameters(values),
  ...more,
});

const chain = (name: string): ScenarioModel =>
  ensemble(name, inOut(), [
    { model: `${name}_1`, inputs: { X: 'IN' }, outputs: { Y: 'middle' } },
    { model: `${name}_2`, inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
  ]);

const fan = (name: string): readonly ScenarioModel[] => [
  step(`${name}_1`, { add: '1' }),
  step(`${name}_left`, { add: '10', wait_ms: '200' }),
  step(`${name}_right`, { add: '100' }),
  step(`${name}_join`, {}, { inputs: [tensor('A'), tensor('B')] }),
  ensemble(name, `max_batch_size: 4\n${signature([tensor('IN')], [tensor('OUT'), tensor('LEFT')])}`, [
    { model: `${name}_1`, inputs: { X: 'IN' }, outputs: { Y: 'first' } },
    { model: `${name}_left`, inputs: { X: 'first' }, outputs: { Y: 'LEFT' } },
    { model: `${name}_right`, inputs: { X: 'first' }, outputs: { Y: 'right' } },
    { model: `${name}_join`, inputs: { A: 'LEFT', B: 'right' }, outputs: { Y: 'OUT' } },
  ]),
];

const plain: readonly Scenario[] = [
  {
    name: 'ensemble: two steps, several requests',
    models: [step('chain_1', { add: '1' }), step('chain_2', { add: '10' }), chain('chain')],
    asks: inTurn([ask('chain', 'a', 0, 1), ask('chain', 'b', 150, 2), ask('chain', 'c', 300, 3, { stream: 's' })]),
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
    name: 'ensemble: a step that fails',
    models: [step('fails_1', { add: '1' }), step('fails_2', {}), chain('fails')],
    asks: inTurn([
      ask('fails', 'first', 0, 1, { values: { fail: 'fails_1' } }),
      ask('fails', 'second', 200, 1, { values: { fail: 'fails_2' } }),
      ask('fails', 'none', 400, 1),
      ask('fails', 'streamed', 600, 1, { values: { fail: 'fails_2' }, stream: 's' }),
    ]),
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
    name: 'ensemble: a step whose queue is full',
    models: [
      reporter('crowded_1', 'max_batch_size: 1\ndynamic_batching { default_queue_policy { max_queue_size: 1 } }'),
      ensemble('crowded', `max_batch_size: 1\n${signature([tensor('IN')], ['name: "OUT" data_type: TYPE_STRING dims: [ 1 ]'])}`, [
        { model: 'crowded_1', inputs: { WAIT: 'IN' }, outputs: { REPORT: 'OUT' } },
      ]),
    ],
    asks: ['a', 'b', 'c'].map((id, index) => ask('crowded', id, 120 * index, 500)),
    varies: /outputs\.OUT\.values/,
  },
  {
    name: 'ensemble: priority, time-out, id and parameters reach the step',
    models: [
      reporter('told_1', 'max_batch_size: 1'),
      ensemble('told', `max_batch_size: 1\n${signature([tensor('IN')], ['name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]'])}`, [
        { model: 'told_1', inputs: { WAIT: 'IN' }, outputs: { REPORT: 'REPORT' } },
      ]),
    ],
    asks: [
      ask('told', 'a', 0, 0, {
        values: { mine: 'x', number: 5, sequence_id: 9, sequence_start: true, sequence_end: true, priority: 1, timeout: 5_000_000 },
      }),
    ],
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
    name: 'ensemble: an optional input',
    models: [
      step('maybe_1', { add: '1' }, { inputs: [tensor('X'), tensor('MORE', '1', 'optional: true')] }),
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
    name: 'ensemble: requests share a batch of a step',
    models: [
      reporter('shared_1', 'max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 400000 }'),
      ensemble('shared', `max_batch_size: 4\n${signature([tensor('IN')], ['name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]'])}`, [
        { model: 'shared_1', inputs: { WAIT: 'IN' }, outputs: { REPORT: 'REPORT' } },
      ]),
    ],
    asks: ['a', 'b', 'c'].map((id, index) => ask('shared', id, 80 * index, 0)),
  },
];

const many = (id: string, model: string, count: number, values: Options['values'] = {}): Ask => ({
  atMs: 0,
  id,
  model,
  inputs: { COUNT: int32([1], count), WAIT: int32([1], 150) },
  parameters: parameters({ triton_enable_empty_final_response: true, ...values }),
  stream: 's',
});

const ofRepeater = `max_batch_size: 0\n${signature([tensor('COUNT'), tensor('WAIT')], [tensor('OUT')])}`;

const decoupled: readonly Scenario[] = [
  {
    name: 'ensemble: a decoupled step, rows one by one',
    models: [
      repeater('rows_1'),
      step('rows_2', { add: '100' }, { rows: 0 }),
      ensemble('rows', ofRepeater, [
        { model: 'rows_1', inputs: { COUNT: 'COUNT', WAIT: 'WAIT' }, outputs: { OUT: 'middle' } },
        { model: 'rows_2', inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: [many('a', 'rows', 3)],
  },
  {
    name: 'ensemble: a decoupled step without answers',
    models: [
      repeater('none_1'),
      step('none_2', {}, { rows: 0 }),
      ensemble('none', ofRepeater, [
        { model: 'none_1', inputs: { COUNT: 'COUNT', WAIT: 'WAIT' }, outputs: { OUT: 'middle' } },
        { model: 'none_2', inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
      ]),
    ],
    asks: [many('a', 'none', 0)],
  },
  {
    name: 'ensemble: a decoupled step that is the last',
    models: [
      repeater('tail_1'),
      ensemble('tail', ofRepeater, [{ model: 'tail_1', inputs: { COUNT: 'COUNT', WAIT: 'WAIT' }, outputs: { OUT: 'OUT' } }]),
    ],
    asks: [many('a', 'tail', 2)],
  },
];

const sequence: readonly Scenario[] = [
  {
    name: 'ensemble: a step that is a sequence model',
    models: [
      reporter(
        'kept_1',
        `max_batch_size: 2
sequence_batching { direct { } control_input [ { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } } ] }`,
      ),
      ensemble('kept', `max_batch_size: 1\n${signature([tensor('IN')], ['name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]'])}`, [
        { model: 'kept_1', inputs: { WAIT: 'IN' }, outputs: { REPORT: 'REPORT' } },
      ]),
    ],
    asks: inTurn([
      ask('kept', 'a0', 0, 0, { values: { sequence_id: 3, sequence_start: true } }),
      ask('kept', 'a1', 150, 0, { values: { sequence_id: 3 } }),
      ask('kept', 'a2', 300, 0, { values: { sequence_id: 3, sequence_end: true } }),
      ask('kept', 'lost', 450, 0, { values: { sequence_id: 3 } }),
    ]),
  },
];

export const ensembles: readonly Scenario[] = [...plain, ...decoupled, ...sequence];
