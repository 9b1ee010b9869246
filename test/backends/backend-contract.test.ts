import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityBackend } from '../../src/backends/identity/identity-backend.ts';
import { onnxruntimeBackend } from '../../src/backends/onnxruntime/onnxruntime-backend.ts';
import { workersStopped } from '../../src/backends/workers/workers-stopped.ts';
import type { Backend } from '../../src/streams/inference/backend.ts';
import { type BackendUnderContract, backendContract } from '../contracts/backend-contract.ts';
import { makeLog } from '../support/model.ts';
import { identity, writeModel } from '../support/onnx-models.ts';
import { inputSpec, modelSpec, outputSpec } from '../support/request-fixtures.ts';

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

backendContract('onnxruntime', () => withModel(onnxruntimeBackend({ config: new Map(), log: makeLog() })));
backendContract('identity', () => withModel(identityBackend()));
