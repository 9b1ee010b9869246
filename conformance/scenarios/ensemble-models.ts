import { type Ask, configParameters, int32, parameters, pythonModel, repeater, type ScenarioModel, signature } from '../scenario.ts';

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

export const reportTensor = 'name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]';

/** Its outputs are the sum of its inputs, and of `add` in `values`. */
export const step = (
  name: string,
  values: Readonly<Record<string, string>>,
  { rows = 4, inputs = [tensor('X')], outputs = [tensor('Y')], more = '' } = {},
): ScenarioModel =>
  pythonModel(name, 'step', `max_batch_size: ${rows}\n${signature(inputs, outputs)}\n${configParameters(values)}\n${more}`);

export const inOut = (rows = 4): string => `max_batch_size: ${rows}\n${signature([tensor('IN')], [tensor('OUT')])}`;

/** An ensemble of one step, which tells what it has seen. */
export const told = (name: string, rows = 1, more = ''): ScenarioModel =>
  ensemble(
    name,
    `max_batch_size: ${rows}\n${signature([tensor('IN')], [reportTensor])}`,
    [{ model: `${name}_1`, inputs: { WAIT: 'IN' }, outputs: { REPORT: 'REPORT' } }],
    more,
  );

export const chain = (name: string): ScenarioModel =>
  ensemble(name, inOut(), [
    { model: `${name}_1`, inputs: { X: 'IN' }, outputs: { Y: 'middle' } },
    { model: `${name}_2`, inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
  ]);

/** One step, then two beside each other of which `left` is the slower one, then one for both. */
export const fan = (name: string): readonly ScenarioModel[] => [
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

export interface AskEnsembleOptions {
  readonly values?: Readonly<Record<string, number | string | boolean>>;
  readonly outputs?: readonly string[];
  readonly stream?: string;
  readonly inputs?: Ask['inputs'];
  readonly cancelAtMs?: number;
}

/** One row, whose input IN is `value`. */
export const askEnsemble = (
  model: string,
  id: string,
  atMs: number,
  value: number,
  { values = {}, inputs, ...more }: AskEnsembleOptions = {},
): Ask => ({
  atMs,
  id,
  model,
  inputs: inputs ?? { IN: int32([1, 1], value) },
  parameters: parameters(values),
  ...more,
});

/** Of an ensemble whose first step is `repeats`. */
export const countedSignature = (...outputs: readonly string[]): string =>
  `max_batch_size: 0\n${signature([tensor('COUNT'), tensor('WAIT')], outputs)}`;

/** A step that asks a `repeater`. */
export const repeats = (model: string, output: string): Step => ({
  model,
  inputs: { COUNT: 'COUNT', WAIT: 'WAIT' },
  outputs: { OUT: output },
});

/** A decoupled step, and one for each of its answers, which takes so long that the first one has said its end before the last row is there. */
export const repeatedRows = (name: string, values: Readonly<Record<string, string>> = {}): readonly ScenarioModel[] => [
  repeater(`${name}_1`),
  step(`${name}_2`, { wait_ms: '60', ...values }, { rows: 0 }),
  ensemble(name, countedSignature(tensor('OUT')), [
    repeats(`${name}_1`, 'middle'),
    { model: `${name}_2`, inputs: { X: 'middle' }, outputs: { Y: 'OUT' } },
  ]),
];
