import { type Flag, type FlagGroup, noEffect, notBuilt } from '../flag.ts';
import { readInteger } from '../flag-values.ts';

const off = ['false', 'off', '0'];
const plain = { argument: 'string', default: '' };
const checkInteger = (value: string): void => {
  readInteger(value);
};

const sagemaker: FlagGroup = 'Sagemaker';
const vertex: FlagGroup = 'Vertex';
const tracing: FlagGroup = 'Tracing';
const memory: FlagGroup = 'Memory/Device Management';

const clouds: readonly Flag[] = [
  notBuilt({
    name: 'allow-sagemaker',
    group: sagemaker,
    argument: 'boolean',
    default: 'false',
    accepted: off,
    description: 'Serve SageMaker.',
  }),
  notBuilt({ name: 'sagemaker-port', group: sagemaker, argument: 'integer', default: '8080', description: 'Port of SageMaker.' }),
  notBuilt({
    name: 'sagemaker-safe-port-range',
    group: sagemaker,
    argument: '<integer>-<integer>',
    default: '',
    description: 'Range in which every port has to lie.',
  }),
  notBuilt({ name: 'sagemaker-thread-count', group: sagemaker, argument: 'integer', default: '8', description: 'Threads of SageMaker.' }),
  notBuilt({
    name: 'allow-vertex-ai',
    group: vertex,
    argument: 'boolean',
    default: 'false',
    accepted: off,
    description: 'Serve Vertex AI.',
  }),
  notBuilt({ name: 'vertex-ai-port', group: vertex, argument: 'integer', default: '8080', description: 'Port of Vertex AI.' }),
  notBuilt({ name: 'vertex-ai-thread-count', group: vertex, argument: 'integer', default: '8', description: 'Threads of Vertex AI.' }),
  notBuilt({ name: 'vertex-ai-default-model', group: vertex, ...plain, description: 'Model for predictions that name none.' }),
];

const extensions: readonly Flag[] = [
  notBuilt({
    name: 'trace-config',
    group: tracing,
    argument: '<string>,<string>=<string>',
    default: '',
    repeatable: true,
    description: 'A trace setting.',
  }),
  notBuilt({
    name: 'repoagent-directory',
    group: 'Repository Agent',
    argument: 'string',
    default: '/opt/tritonserver/repoagents',
    description: 'Directory of repository agents.',
  }),
];

const devices: readonly Flag[] = [
  noEffect({
    name: 'pinned-memory-pool-byte-size',
    group: memory,
    argument: 'integer',
    default: '268435456',
    description: 'Bytes of pinned memory.',
    reason: 'Weir pins no memory',
    apply: checkInteger,
  }),
  noEffect({
    name: 'cuda-memory-pool-byte-size',
    group: memory,
    argument: '<integer>:<integer>',
    default: '67108864 per GPU',
    repeatable: true,
    description: 'Bytes of GPU memory kept for tensors.',
    reason: 'Weir keeps tensors in main memory',
    apply: () => undefined,
  }),
  noEffect({
    name: 'cuda-virtual-address-size',
    group: memory,
    argument: '<integer>:<integer>',
    default: '1073741824 per GPU',
    repeatable: true,
    description: 'Bytes of GPU address space for growing states.',
    reason: 'Weir keeps tensors in main memory',
    apply: () => undefined,
  }),
  notBuilt({
    name: 'min-supported-compute-capability',
    group: memory,
    argument: 'float',
    default: '0.0',
    accepted: ['0', '0.0'],
    description: 'GPUs of a lower compute capability are ignored.',
  }),
  noEffect({
    name: 'buffer-manager-thread-count',
    group: memory,
    argument: 'integer',
    default: '0',
    description: 'Threads that copy tensors.',
    reason: 'tensors are written where the model reads them',
    apply: checkInteger,
  }),
  notBuilt({
    name: 'host-policy',
    group: memory,
    argument: '<string>,<string>=<string>',
    default: '',
    repeatable: true,
    description: 'Processor cores or NUMA node of instances.',
  }),
  notBuilt({
    name: 'model-load-gpu-limit',
    group: memory,
    argument: '<integer>:<fraction>',
    default: '',
    repeatable: true,
    description: 'Share of a GPU that models may fill.',
  }),
  notBuilt({
    name: 'allow-client-shm',
    group: memory,
    argument: 'boolean',
    default: 'false',
    accepted: off,
    description: 'Let clients register shared memory.',
  }),
];

/** Flags of Triton's in whose room nothing stands yet. */
export const notBuiltFlags: readonly Flag[] = [...clouds, ...extensions, ...devices];
