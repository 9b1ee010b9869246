import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dynaSequenceBackend, sequenceBackend } from '../../src/backends/accumulator/accumulator-backend.ts';
import { identityBackend } from '../../src/backends/identity/identity-backend.ts';
import { javascriptBackend } from '../../src/backends/javascript/javascript-backend.ts';
import { onnxruntimeBackend } from '../../src/backends/onnxruntime/onnxruntime-backend.ts';
import { repeatBackend } from '../../src/backends/repeat/repeat-backend.ts';
import { squareBackend } from '../../src/backends/square/square-backend.ts';
import { workersStopped } from '../../src/backends/workers/workers-stopped.ts';
import type { Backend } from '../../src/streams/inference/backend.ts';
import type { ControlInput, ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';
import { type BackendUnderContract, backendContract, copying as copied, type Dialogue, upTo } from '../contracts/backend-contract.ts';
import { makeLog } from '../support/model.ts';
import { identity, writeModel } from '../support/onnx-models.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../support/request-fixtures.ts';
import { noFiles } from '../support/run-backend.ts';
import { noCalls, noMetrics } from './javascript/workbench.ts';
import { executes, hasPython, pythonModel } from './python/python-models.ts';

const spec = modelSpec({ maxBatchSize: 16, inputs: [inputSpec('INPUT0', 'FP32', [-1])], outputs: [outputSpec('OUTPUT0', 'FP32', [-1])] });

const withModel = async (backend: Backend): Promise<BackendUnderContract> => {
  const repository = await mkdtemp(join(tmpdir(), 'weir-contract-'));
  const modelDirectory = await writeModel(repository, 'm', { onnx: identity() });
  return {
    backend,
    files: { modelName: 'm', modelDirectory, versionDirectory: join(modelDirectory, '1'), modelFile: 'model.onnx' },
    spec,
    dialogue: copied,
    close: async () => {
      await workersStopped();
      await rm(repository, { recursive: true });
    },
  };
};

/** The model in JavaScript. */
const withModule = async (code: string): Promise<BackendUnderContract> => {
  const repository = await mkdtemp(join(tmpdir(), 'weir-contract-'));
  const modelDirectory = join(repository, 'm');
  await mkdir(join(modelDirectory, '1'), { recursive: true });
  await writeFile(join(modelDirectory, '1', 'model.ts'), code);
  const backend = javascriptBackend({ calls: noCalls, metrics: noMetrics, log: makeLog() });
  return {
    backend,
    files: { modelName: 'm', modelDirectory, versionDirectory: join(modelDirectory, '1'), modelFile: 'model.ts' },
    spec,
    dialogue: copied,
    close: async () => {
      await workersStopped();
      await rm(repository, { recursive: true });
    },
  };
};

const sharing = `import { defineModel } from 'weir/backend';
  export default defineModel({ execute: (requests) => requests.map((request) => ({ outputs: { OUTPUT0: request.input('INPUT0') } })) });`;

const copying = `import { defineModel, perRequest } from 'weir/backend';
  export default defineModel({
    execute: perRequest(async (request, context) => {
      const { shape, data } = request.input('INPUT0', 'FP32');
      const copy = context.allocate('FP32', shape);
      copy.set(data);
      await new Promise(setImmediate);
      return { outputs: { OUTPUT0: { shape, data: copy } } };
    }),
  });`;

const streaming = `import { defineModel } from 'weir/backend';
  export default defineModel({
    async *execute(requests) {
      for (const request of requests) yield { request, outputs: { OUTPUT0: request.input('INPUT0') }, isLast: true };
    },
  });`;

backendContract('onnxruntime', () => withModel(onnxruntimeBackend({ config: new Map(), log: makeLog() })));
backendContract('identity', () => withModel(identityBackend()));
backendContract('javascript, a synchronous model', () => withModule(sharing));
backendContract('javascript, an asynchronous model', () => withModule(copying));
backendContract('javascript, a generator', () => withModule(streaming));

/** The model in Python. */
const withPython = async (code: string): Promise<BackendUnderContract> => {
  const model = await pythonModel(code, { spec: { maxBatchSize: 16, inputs: spec.inputs, outputs: spec.outputs } });
  return {
    backend: model.backend,
    files: model.files,
    spec: model.spec,
    dialogue: copied,
    close: () => model.remove(),
  };
};

const answering = executes('return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())]) for r in requests]');

const sending = `import threading\n${executes(`
def respond(senders, arrays):
    for sender, array in zip(senders, arrays):
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", array * 1)]), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
threading.Thread(target=respond, args=([r.get_response_sender() for r in requests], [r.inputs()[0].as_numpy() for r in requests])).start()
return [None for _ in requests]
`)}`;

if (hasPython) {
  backendContract('python', () => withPython(answering));
  backendContract('python, answers from a thread', () => withPython(sending));
}

/** A model of a backend that runs in place and needs no files. */
const inPlace = (backend: Backend, ofModel: ModelSpec, dialogue: Dialogue) => (): Promise<BackendUnderContract> =>
  Promise.resolve({ backend, files: noFiles, spec: ofModel, dialogue, close: () => Promise.resolve() });

/** Up to three elements, so none now and then. */
const elements = (first: number): readonly number[] => upTo(first % 4).map((index) => first + index);

const repeating: Dialogue = {
  mostRows: 1,
  mostRequests: 1,
  output: 'OUT',
  request: (_, first) => {
    const values = elements(first);
    return inferRequest({
      IN: tensorFrom('INT32', [values.length], values),
      DELAY: tensorFrom('UINT32', [values.length], Array<number>(values.length).fill(0)),
      WAIT: tensorFrom('UINT32', [1], [0]),
    });
  },
  answers: (_, first) => elements(first).map((value) => ({ shape: [1], values: [value] })),
};

const squaring: Dialogue = {
  mostRows: 1,
  mostRequests: 16,
  output: 'OUT',
  request: (_, first) => inferRequest({ IN: tensorFrom('INT32', [1, 1], [first % 7]) }),
  answers: (_, first) => upTo(first % 7).map(() => ({ shape: [1, 1], values: [first % 7] })),
};

/** Each request begins a sequence of its own. */
const summing: Dialogue = {
  mostRows: 1,
  mostRequests: 16,
  output: 'OUTPUT',
  request: (_, first) =>
    inferRequest({
      INPUT: tensorFrom('INT32', [1, 2], [first, -5]),
      START: tensorFrom('INT32', [1, 1], [1]),
      END: tensorFrom('INT32', [1, 1], [0]),
      READY: tensorFrom('INT32', [1, 1], [1]),
      CORRID: tensorFrom('UINT64', [1, 1], [BigInt(first)]),
    }),
  answers: (_, first) => [{ shape: [1, 2], values: [first - 5, first - 5] }],
};

const flag = (kind: 'START' | 'END' | 'READY'): ControlInput => ({ kind, name: kind, datatype: 'INT32', whenFalse: 0, whenTrue: 1 });

const summingSpec = (...controls: readonly ControlInput[]): ModelSpec =>
  modelSpec({
    maxBatchSize: 16,
    inputs: [inputSpec('INPUT', 'INT32', [-1])],
    outputs: [outputSpec('OUTPUT', 'INT32', [-1])],
    sequenceBatching: {
      strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 },
      maxIdleMs: 1000,
      controls,
      states: [],
      isIterative: false,
      endsIdleWithStep: false,
    },
  });

const repeatSpec = modelSpec({
  decoupled: true,
  inputs: [inputSpec('IN', 'INT32', [-1]), inputSpec('DELAY', 'UINT32', [-1]), inputSpec('WAIT', 'UINT32', [1])],
  outputs: [outputSpec('OUT', 'INT32', [1]), outputSpec('IDX', 'UINT32', [1])],
});

const squareSpec = modelSpec({
  decoupled: true,
  maxBatchSize: 16,
  inputs: [inputSpec('IN', 'INT32', [1])],
  outputs: [outputSpec('OUT', 'INT32', [1])],
});

backendContract('repeat', inPlace(repeatBackend(), repeatSpec, repeating), { isDecoupled: true });
backendContract('square', inPlace(squareBackend(), squareSpec, squaring), { isDecoupled: true });
backendContract('sequence', inPlace(sequenceBackend(), summingSpec(flag('START'), flag('READY')), summing));
backendContract(
  'dyna_sequence',
  inPlace(
    dynaSequenceBackend(),
    summingSpec(flag('START'), flag('END'), flag('READY'), { kind: 'CORRID', name: 'CORRID', datatype: 'UINT64' }),
    summing,
  ),
);
