import { InferError } from '../../streams/inference/error.ts';

/** What `--backend-config=python,...` may say. */
export interface PythonSettings {
  /** Of the first segment of each direction. */
  readonly memoryBytes: number;
  readonly growthBytes: number;
  /** From the start of a process until it listens; and from the order to stop until it is killed. */
  readonly timeoutMs: number;
  /** Model calls of one process that run at once. */
  readonly callLimit: number;
  /** The longest that a response sender waits for room for one answer; 0 for not at all. */
  readonly roomSeconds: number;
  /** Names of shared memory begin with it. */
  readonly prefix: string;
}

const mebibyte = 2 ** 20;

const integer = (settings: ReadonlyMap<string, string>, key: string, fallback: number): number => {
  const given = settings.get(key);
  if (given === undefined) return fallback;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new InferError('INVALID_ARGUMENT', `failed to convert ${key} '${given}' to integral number`);
};

const atLeast = (least: number, key: string, value: number): number => {
  if (value >= least) return value;
  throw new InferError('INVALID_ARGUMENT', `backend-config 'python,${key}' must be at least ${least}, got ${value}`);
};

const prefixOf = (given: string): string => {
  if (given !== '' && !given.includes('/') && given.length <= 150) return given;
  throw new InferError('INVALID_ARGUMENT', `backend-config 'python,shm-region-prefix-name' is no name for shared memory: '${given}'`);
};

/** Of `--backend-config`, those that this backend reads. */
export const pythonSettingNames: readonly string[] = [
  'shm-default-byte-size',
  'shm-growth-byte-size',
  'stub-timeout-seconds',
  'thread-pool-size',
  'send-timeout-seconds',
  'shm-region-prefix-name',
];

/** @throws InferError INVALID_ARGUMENT */
export const readPythonSettings = (settings: ReadonlyMap<string, string>): PythonSettings => ({
  memoryBytes: atLeast(mebibyte, 'shm-default-byte-size', integer(settings, 'shm-default-byte-size', mebibyte)),
  growthBytes: atLeast(1, 'shm-growth-byte-size', integer(settings, 'shm-growth-byte-size', mebibyte)),
  timeoutMs: 1000 * atLeast(1, 'stub-timeout-seconds', integer(settings, 'stub-timeout-seconds', 30)),
  callLimit: atLeast(1, 'thread-pool-size', integer(settings, 'thread-pool-size', 32)),
  roomSeconds: integer(settings, 'send-timeout-seconds', 30),
  prefix: prefixOf(settings.get('shm-region-prefix-name') ?? 'triton_python_backend_shm_region_'),
});
