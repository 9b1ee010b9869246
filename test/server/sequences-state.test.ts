import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, Server } from '../../src/index.ts';
import { encodeBytesElements } from '../../src/streams/tensors/bytes-elements.ts';
import { writeModel } from '../support/onnx-models.ts';
import { type ModelRepository, modelRepository } from './support/model-repository.ts';
import { accumulator, controls, history, nameOfSequence, sumAndCount } from './support/stateful-models.ts';

interface Model {
  readonly onnx: Uint8Array;
  readonly config: string;
  /** By path inside `initial_state`. */
  readonly initial?: Readonly<Record<string, Uint8Array>>;
}

const io = (type: string, dims: string) =>
  `input { name: "INPUT" data_type: ${type} dims: 1 } output { name: "OUTPUT" data_type: ${type} dims: ${dims} }`;

const state = (input: string, out: string, type = 'TYPE_FP32', dims = '1', initial = '') =>
  `state { input_name: "${input}" output_name: "${out}" data_type: ${type} dims: ${dims} ${
    initial === '' ? '' : `initial_state { name: "i" data_type: ${type} ${initial} }`
  } }`;

const floats = (...values: number[]): Uint8Array => new Uint8Array(new Float32Array(values).buffer);

const controlInputs = `
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ -1, 3 ] } }
  control_input { name: "END" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [ false, true ] } }
  control_input { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }`;

const stringId = 'control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } }';

// Nobody is idle by being slow. A server that closes waits for sequences that are open: every test ends its own.
const patience = 'max_sequence_idle_microseconds: 60000000';
const strategies = { direct: `${patience} direct { }`, oldest: `${patience} oldest { max_candidate_sequences: 4 }` };
const strategyNames = ['direct', 'oldest'] as const;
const { oldest } = strategies;

const ofBoth = (strategy: string): Readonly<Record<string, Model>> => ({
  sum: {
    onnx: accumulator(),
    config: `max_batch_size: 4 ${io('TYPE_FP32', '1')}
      sequence_batching { ${strategy} ${state('SUM', 'SUM_OUT', 'TYPE_FP32', '1', 'dims: 1 zero_data: true')} }`,
  },
  mean: {
    onnx: sumAndCount(),
    config: `max_batch_size: 4 ${io('TYPE_FP32', '2')} output { name: "Z_COUNT" data_type: TYPE_FP32 dims: 1 }
      sequence_batching { ${strategy} ${state('Z_SUM', 'A_SUM', 'TYPE_FP32', '1', 'dims: 1 data_file: "deep/sum"')} ${state('A_COUNT', 'Z_COUNT')} }`,
    initial: { 'deep/sum': floats(100) },
  },
  history: {
    onnx: history('FP32', { batches: true }),
    config: `max_batch_size: 4 ${io('TYPE_FP32', '-1')}
      sequence_batching { ${strategy} ${state('HISTORY', 'HISTORY_OUT', 'TYPE_FP32', '-1')} }`,
  },
  controls: {
    onnx: controls(),
    config: `max_batch_size: 4 ${io('TYPE_FP32', '5')} sequence_batching { ${strategy} ${controlInputs} }`,
  },
});

const grownFrom = (initial: string): string =>
  `${io('TYPE_FP32', '-1')} sequence_batching { ${oldest} ${state('HISTORY', 'HISTORY_OUT', 'TYPE_FP32', '-1', initial)} }`;

const models: Readonly<Record<string, Model>> = {
  ...Object.fromEntries(
    strategyNames.flatMap((kind) => Object.entries(ofBoth(strategies[kind])).map(([name, model]) => [`${name}_${kind}`, model])),
  ),
  from_file: {
    onnx: history('FP32', { batches: false }),
    config: grownFrom('dims: 2 data_file: "h"'),
    initial: { h: floats(8, 9) },
  },
  from_zeros: { onnx: history('FP32', { batches: false }), config: grownFrom('dims: 3 zero_data: true') },
  words: {
    onnx: history('BYTES', { batches: true }),
    config: `max_batch_size: 4 ${io('TYPE_STRING', '-1')}
      sequence_batching { ${oldest} ${state('HISTORY', 'HISTORY_OUT', 'TYPE_STRING', '-1', 'dims: 2 data_file: "words"')} }`,
    initial: { words: encodeBytesElements(['es war', '']) },
  },
  names: {
    onnx: nameOfSequence(),
    config: `max_batch_size: 4 ${io('TYPE_STRING', '2')} sequence_batching { ${oldest} ${stringId} }`,
  },
};

let repository: ModelRepository;
let server: Server;

beforeAll(async () => {
  repository = await modelRepository({});
  for (const [name, { onnx, config, initial = {} }] of Object.entries(models)) {
    const text = `backend: "onnxruntime" instance_group { count: 1 } ${config}`;
    const directory = await writeModel(repository.path, name, { onnx, config: text });
    for (const [file, bytes] of Object.entries(initial)) {
      const path = join(directory, 'initial_state', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bytes);
    }
  }
  server = await Server.start({ modelRepository: repository.path, log: { warning: false } });
});

afterAll(async () => {
  await server.close();
  await repository[Symbol.asyncDispose]();
});

type Flag = 'start' | 'end';

interface Asked {
  readonly id: bigint | string;
  readonly flags?: readonly Flag[];
  readonly outputs?: readonly string[];
}

const step = (model: string, value: number | string, { id, flags = [], outputs = [] }: Asked): Promise<Answer> =>
  server.model(model).inferOnce({
    inputs: { INPUT: { shape: model.startsWith('from_') ? [1] : [1, 1], values: [value] } },
    outputs,
    sequenceId: id,
    sequenceStart: flags.includes('start'),
    sequenceEnd: flags.includes('end'),
  });

const numbers = async (answer: Promise<Answer>): Promise<readonly unknown[]> => [...(await answer).values('OUTPUT')];

const strings = async (answer: Promise<Answer>): Promise<readonly string[]> => (await answer).strings('OUTPUT');

describe.each(strategyNames)('with the %s strategy', (kind) => {
  it('each sequence adds up what it hears by itself, and anew after each START', async () => {
    const sum = (value: number, asked: Asked) => numbers(step(`sum_${kind}`, value, asked));
    expect(await sum(1, { id: 1n, flags: ['start'] })).toEqual([1]);
    expect(await sum(100, { id: 2n, flags: ['start'] })).toEqual([100]);
    expect(await Promise.all([sum(2, { id: 1n }), sum(200, { id: 2n })])).toEqual([[3], [300]]);
    expect(await sum(4, { id: 1n })).toEqual([7]);
    expect(await sum(10, { id: 1n, flags: ['start'] })).toEqual([10]);
    expect(await sum(5, { id: 1n, flags: ['end'] })).toEqual([15]);
    expect(await sum(1, { id: 1n, flags: ['start', 'end'] })).toEqual([1]);
    expect(await sum(300, { id: 2n, flags: ['end'] })).toEqual([600]);
  });

  it('states begin with what a file says, and are paired by entry of the config', async () => {
    const mean = (value: number, asked: Asked) => numbers(step(`mean_${kind}`, value, asked));
    expect(await mean(1, { id: 1n, flags: ['start'] })).toEqual([101, 1]);
    expect(await mean(2, { id: 1n })).toEqual([103, 2]);
    expect(await mean(3, { id: 1n, flags: ['end'] })).toEqual([106, 3]);
    expect(await mean(5, { id: 1n, flags: ['start', 'end'] })).toEqual([105, 1]);
  });

  it('the caller sees only those states that are outputs of the model too, and gives none', async () => {
    const model = `mean_${kind}`;
    const first = await step(model, 7, { id: 3n, flags: ['start'] });
    expect([...first.outputs.keys()]).toEqual(['OUTPUT', 'Z_COUNT']);
    expect([...first.values('Z_COUNT')]).toEqual([1]);
    const second = await step(model, 1, { id: 3n, outputs: ['OUTPUT'] });
    expect([...second.outputs.keys()]).toEqual(['OUTPUT']);
    expect([...second.values('OUTPUT')]).toEqual([108, 2]);
    expect([...(await step(model, 1, { id: 3n, outputs: ['Z_COUNT'] })).values('Z_COUNT')]).toEqual([3]);
    await expect(step(model, 1, { id: 3n, outputs: ['A_SUM'] })).rejects.toThrow(/unexpected inference output 'A_SUM'/);
    const inputs = { INPUT: { shape: [1, 1], values: [1] }, Z_SUM: { shape: [1, 1], values: [1], datatype: 'FP32' as const } };
    await expect(server.model(model).inferOnce({ inputs, sequenceId: 3n })).rejects.toThrow(/Z_SUM/);
    expect(await numbers(step(model, 1, { id: 3n, flags: ['end'] }))).toEqual([110, 4]);
  });

  it('sequences whose states have grown apart run beside each other', async () => {
    const hear = (value: number, asked: Asked) => numbers(step(`history_${kind}`, value, asked));
    await hear(1, { id: 1n, flags: ['start'] });
    await hear(2, { id: 1n });
    await hear(10, { id: 2n, flags: ['start'] });
    const end: readonly Flag[] = ['end'];
    const together = [hear(3, { id: 1n, flags: end }), hear(20, { id: 2n, flags: end }), hear(100, { id: 3n, flags: ['start', 'end'] })];
    expect(await Promise.all(together)).toEqual([
      [0, 1, 2, 3],
      [0, 10, 20],
      [0, 100],
    ]);
  });

  it('a model is told where in its sequence each step is', async () => {
    const told = (value: number, asked: Asked) => numbers(step(`controls_${kind}`, value, asked));
    expect(await told(0.5, { id: 77n, flags: ['start'] })).toEqual([3, 0, 1, 77, 0.5]);
    expect(await told(1.5, { id: 77n })).toEqual([-1, 0, 1, 77, 1.5]);
    expect(await told(2.5, { id: 77n, flags: ['end'] })).toEqual([-1, 1, 1, 77, 2.5]);
    expect(await told(3.5, { id: 78n, flags: ['start', 'end'] })).toEqual([3, 1, 1, 78, 3.5]);
  });
});

it.each([
  { model: 'from_file', begins: [8, 9] },
  { model: 'from_zeros', begins: [0, 0, 0] },
])('a state grows step by step, $model', async ({ model, begins }) => {
  const heard: number[] = [];
  for (let value = 1; value <= 20; value++) {
    heard.push(value);
    const flags: readonly Flag[] = value === 1 ? ['start'] : [];
    expect(await numbers(step(model, value, { id: 1n, flags }))).toEqual([...begins, ...heard]);
  }
  expect(await numbers(step(model, 1, { id: 1n, flags: ['start', 'end'] }))).toEqual([...begins, 1]);
});

it('strings of a state come from a file, and stay whole from step to step', async () => {
  expect(await strings(step('words', 'einmal', { id: 1n, flags: ['start'] }))).toEqual(['es war', '', 'einmal']);
  expect(await strings(step('words', 'grün 🙂', { id: 1n }))).toEqual(['es war', '', 'einmal', 'grün 🙂']);
  expect(await strings(step('words', 'x', { id: 1n, flags: ['start', 'end'] }))).toEqual(['es war', '', 'x']);
});

it.each(['abc', 'ü-語-🙂', 'x'.repeat(128)])('a model is told the string id %j', async (id) => {
  expect(await strings(step('names', 'a', { id, flags: ['start'] }))).toEqual(['a', id]);
  expect(await strings(step('names', 'b', { id, flags: ['end'] }))).toEqual(['b', id]);
});
