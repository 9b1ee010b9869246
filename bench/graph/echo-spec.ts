import { bareRequest } from '../../src/streams/inference/bare-request.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';

const floats = 16;
const tensor = { datatype: 'FP32', dims: [floats], reshape: undefined } as const;

/** The identity model of the other benches, as the repository compiles it. */
export const echoSpec: ModelSpec = {
  name: 'identity',
  version: '1',
  platform: '',
  backend: 'identity',
  maxBatchSize: 64,
  inputs: [{ name: 'INPUT0', optional: false, allowRagged: false, ...tensor }],
  outputs: [{ name: 'OUTPUT0', labels: [], ...tensor }],
  dynamicBatching: {
    preferredBatchSizes: [64],
    maxQueueDelayMs: 0,
    preserveOrdering: false,
    priorityLevels: 0n,
    defaultPriorityLevel: 0n,
    defaultQueuePolicy: { timeoutAction: 'REJECT', defaultTimeoutMs: 0, allowTimeoutOverride: false, maxQueueSize: 16384 },
    queuePolicies: new Map(),
    isStrict: false,
  },
  sequenceBatching: undefined,
  batchOptions: { groupByParameter: undefined, unequalShapes: false, padding: undefined },
  batchInputs: [],
  batchOutputs: [],
  ensemble: undefined,
  maxQueueSize: 16384,
  warmups: [],
  usesCache: false,
  instanceGroups: [{ name: 'identity_0', kind: 'CPU', count: 1, gpus: [], isPassive: false, resources: [], priority: 1 }],
  decoupled: false,
  parameters: new Map(),
  graphLevel: 0,
  config: {},
};

export const makeRequest = (id: string): InferRequest => ({
  ...bareRequest(echoSpec.name, '', new Map([['INPUT0', new Tensor('FP32', [1, floats], Buffer.alloc(4 * floats))]])),
  id,
});
