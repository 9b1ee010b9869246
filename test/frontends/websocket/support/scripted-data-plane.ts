import { defer, throwError } from 'rxjs';
import type { DataPlane, ServedModel } from '../../../../src/streams/inference/data-plane.ts';
import { InferError } from '../../../../src/streams/inference/error.ts';
import type { Infer } from '../../../../src/streams/inference/infer.ts';
import type { ModelSpec } from '../../../../src/streams/inference/model-spec.ts';

const spec = (name: string): ModelSpec => ({
  name,
  version: '1',
  platform: '',
  backend: 'scripted',
  maxBatchSize: 0,
  inputs: [],
  outputs: [],
  dynamicBatching: undefined,
  sequenceBatching: undefined,
  ensemble: undefined,
  batchOptions: { groupByParameter: undefined, unequalShapes: false, padding: undefined },
  batchInputs: [],
  batchOutputs: [],
  maxQueueSize: 1000,
  warmups: [],
  usesCache: false,
  instanceGroups: [],
  decoupled: true,
  parameters: new Map(),
  graphLevel: 0,
  config: {},
});

/** A data plane whose models are functions, all of version 1. */
export const scriptedDataPlane = (models: Readonly<Record<string, Infer>>): DataPlane => {
  const model = (name: string, version: string): ServedModel => {
    const infer = Object.hasOwn(models, name) ? models[name] : undefined;
    if (infer === undefined) throw new InferError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);
    if (version !== '' && version !== '1') {
      throw new InferError('NOT_FOUND', `Request for unknown model: '${name}' version ${version} is not found`);
    }
    return { spec: spec(name), infer };
  };
  return {
    isLive: () => true,
    isReady: () => true,
    isExiting: () => false,
    isModelReady: (name) => Object.hasOwn(models, name),
    serverMetadata: () => ({ name: 'test', version: '0', extensions: [] }),
    model,
    modelMetadata: (name) => ({ name, versions: ['1'], platform: '', inputs: [], outputs: [] }),
    statistics: async () => [],
    index: async () => Object.keys(models).map((name) => ({ name, version: '1', state: 'READY' as const })),
    graphs: () => [],
    graph: (name, version) => {
      throw new InferError('NOT_FOUND', `no graph of '${name}' version '${version}'`);
    },
    infer: (request) =>
      defer(() => {
        try {
          return model(request.modelName, request.modelVersion).infer(request);
        } catch (error) {
          return throwError(() => error);
        }
      }),
  };
};
