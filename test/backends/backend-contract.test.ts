import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityBackend } from '../../src/backends/identity/identity-backend.ts';
import { javascriptBackend } from '../../src/backends/javascript/javascript-backend.ts';
import { onnxruntimeBackend } from '../../src/backends/onnxruntime/onnxruntime-backend.ts';
import { workersStopped } from '../../src/backends/workers/workers-stopped.ts';
import type { Backend } from '../../src/streams/inference/backend.ts';
import { type BackendUnderContract, backendContract } from '../contracts/backend-contract.ts';
import { makeLog } from '../support/model.ts';
import { identity, writeModel } from '../support/onnx-models.ts';
import { inputSpec, modelSpec, outputSpec } from '../support/request-fixtures.ts';
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
