import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A model of the repository that both servers read: its config, and its files besides. */
export interface ScenarioModel {
  readonly name: string;
  readonly config: string;
  /** By path within the model's folder. */
  readonly files: Readonly<Record<string, string | Buffer>>;
}

/** A tensor of a request, its elements as they lie in memory. */
export interface Input {
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly bytes: Buffer;
}

/** One request, sent at its time over gRPC. */
export interface Ask {
  /** From the begin of the scenario, or from the last answer to `after`. */
  readonly atMs: number;
  /** The id of a request that has to be answered first. */
  readonly after?: string;
  /** Also the request's id: model and errors name it. */
  readonly id: string;
  readonly model: string;
  readonly inputs: Readonly<Record<string, Input>>;
  readonly parameters?: Readonly<Record<string, object>>;
  readonly outputs?: readonly string[];
  /** The `ModelStreamInfer` that carries it, by a name of the scenario's own; a call of its own where there is none. */
  readonly stream?: string;
  /** The caller gives up. */
  readonly cancelAtMs?: number;
}

/** Requests to a few models at given times. No two scenarios share a model, so that each finds its models fresh and its counters alone. */
export interface Scenario {
  /** The table of kept differences refers to it. */
  readonly name: string;
  readonly models: readonly ScenarioModel[];
  readonly asks: readonly Ask[];
  /** Paths of the outcome whose values are not compared, only their types. */
  readonly varies?: RegExp;
}

/** Scenarios for which servers are started in the same way. */
export interface ScenarioGroup {
  readonly name: string;
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Scenarios that are played at once. */
  readonly lanes: number;
  readonly scenarios: readonly Scenario[];
}

const source = (file: string): string => readFileSync(join(import.meta.dirname, 'python-models', `${file}.py`), 'utf8');

export const instances = (count: number): string => `instance_group [ { kind: KIND_CPU count: ${count} } ]`;

const withInstances = (config: string): string => (config.includes('instance_group') ? config : `${config}\n${instances(1)}`);

/** A model of `python-models`, or of the Python text that is given. */
export const pythonModel = (name: string, file: string, config: string, files: ScenarioModel['files'] = {}): ScenarioModel => ({
  name,
  config: `backend: "python"\n${withInstances(config)}\n`,
  files: { '1/model.py': source(file), ...files },
});

const tensors = (list: readonly string[]): string => `[ ${list.map((tensor) => `{ ${tensor} }`).join(', ')} ]`;

/** `input` and `output` of a config, each tensor in a line such as `name: "X" data_type: TYPE_INT32 dims: [ 1 ]`. */
export const signature = (inputs: readonly string[], outputs: readonly string[]): string =>
  `input ${tensors(inputs)}\noutput ${tensors(outputs)}`;

const wait = 'name: "WAIT" data_type: TYPE_INT32 dims: [ 1 ]';
const report = 'name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]';

/** Tells which requests ran together. Inputs WAIT, in milliseconds, and those that are given besides. */
export const reporter = (name: string, config: string, inputs: readonly string[] = []): ScenarioModel =>
  pythonModel(name, 'reporter', `${signature([wait, ...inputs], [report])}\n${config}`);

/** A decoupled model: COUNT answers, WAIT milliseconds apart. */
export const repeater = (name: string, config = '', rows = 0): ScenarioModel =>
  pythonModel(
    name,
    'repeat',
    `max_batch_size: ${rows}
${signature(['name: "COUNT" data_type: TYPE_INT32 dims: [ 1 ]', wait], ['name: "OUT" data_type: TYPE_INT32 dims: [ 1 ]'])}
model_transaction_policy { decoupled: true }
${config}`,
  );

/** Config parameters. */
export const configParameters = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([key, value]) => `parameters { key: "${key}" value { string_value: "${value}" } }`)
    .join('\n');

export const int32 = (shape: readonly number[], ...values: readonly number[]): Input => ({
  datatype: 'INT32',
  shape,
  bytes: Buffer.from(Int32Array.from(values).buffer),
});

export const text = (shape: readonly number[], ...values: readonly string[]): Input => ({
  datatype: 'BYTES',
  shape,
  bytes: Buffer.concat(
    values.map((value) => {
      const body = Buffer.from(value);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(body.length);
      return Buffer.concat([length, body]);
    }),
  ),
});

/** A request parameter, as gRPC has it. */
export const parameter = (value: number | string | boolean): object => {
  if (typeof value === 'boolean') return { bool_param: value };
  return typeof value === 'string' ? { string_param: value } : { int64_param: value };
};

export const parameters = (values: Readonly<Record<string, number | string | boolean>>): Readonly<Record<string, object>> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, parameter(value)]));

export interface AskOptions {
  /** How long the execution takes. */
  readonly waitMs?: number;
  /** 0 for a model without batching. */
  readonly rows?: number;
  readonly inputs?: Readonly<Record<string, Input>>;
  readonly parameters?: Readonly<Record<string, number | string | boolean>>;
  readonly stream?: string;
  readonly cancelAtMs?: number;
}

/** Asks a model of `reporter`. */
export const askReporter = (model: string, id: string, atMs: number, options: AskOptions = {}): Ask => {
  const { waitMs = 0, rows = 1, inputs = {}, parameters: values, stream, cancelAtMs } = options;
  return {
    atMs,
    id,
    model,
    inputs: { WAIT: int32(rows === 0 ? [1] : [rows, 1], ...Array(Math.max(rows, 1)).fill(waitMs)), ...inputs },
    ...(values === undefined ? {} : { parameters: parameters(values) }),
    ...(stream === undefined ? {} : { stream }),
    ...(cancelAtMs === undefined ? {} : { cancelAtMs }),
  };
};

const afterMs = 30;

/** Each request a little after the answer to the one before. */
export const inTurn = (asks: readonly Ask[]): readonly Ask[] =>
  asks.map((ask, index) => {
    const before = asks[index - 1];
    return before === undefined ? ask : { ...ask, atMs: afterMs, after: before.id };
  });
