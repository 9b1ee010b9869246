import type { InferenceSession } from 'onnxruntime-node';
import type { Placement } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';

type SessionOptions = InferenceSession.SessionOptions;

/**
 * Threads of one session for one operator, where neither the model nor the backend's configuration says. ONNX Runtime's own default, which
 * `0` asks for, is one thread per core, all of them spinning while they wait: in a server whose event loop lives on the same cores that
 * doubles the processor time of a request and, with several instances, lengthens it too. More cores are used by more instances.
 */
const defaultIntraOpThreads = 1;

/**
 * How ONNX Runtime is to run this instance, from the model's `parameters` and `optimization.graph.level`, and behind them the backend's
 * own configuration.
 *
 * @throws InferError INVALID_ARGUMENT for a value that cannot be read, UNIMPLEMENTED for a setting that onnxruntime-node cannot carry
 */
export const sessionOptions = (spec: ModelSpec, placement: Placement, backendConfig: ReadonlyMap<string, string>): SessionOptions => {
  refuseUncarried(spec, placement, backendConfig);
  const setting = (key: string): string | undefined => spec.parameters.get(key) ?? backendConfig.get(key);
  const interOpNumThreads = wholeNumber('inter_op_thread_count', setting('inter_op_thread_count'), 0);
  const enableCpuMemArena = yesOrNo('enable_mem_arena', spec.parameters.get('enable_mem_arena'));
  const enableMemPattern = yesOrNo('enable_mem_pattern', spec.parameters.get('enable_mem_pattern'));
  const deviceAllocator = yesOrNo(deviceAllocatorKey, spec.parameters.get(deviceAllocatorKey));
  return {
    intraOpNumThreads: wholeNumber('intra_op_thread_count', setting('intra_op_thread_count'), defaultIntraOpThreads),
    interOpNumThreads,
    executionMode: wholeNumber('execution_mode', spec.parameters.get('execution_mode'), 0) === 1 ? 'parallel' : 'sequential',
    graphOptimizationLevel: graphLevels.get(spec.graphLevel) ?? 'all',
    executionProviders: placement.kind === 'GPU' ? [{ name: 'cuda', deviceId: placement.device }, 'cpu'] : ['cpu'],
    ...(enableCpuMemArena === undefined ? {} : { enableCpuMemArena }),
    ...(enableMemPattern === undefined ? {} : { enableMemPattern }),
    ...(deviceAllocator === undefined
      ? {}
      : { extra: { session: { use_device_allocator_for_initializers: deviceAllocator ? '1' : '0' } } }),
  };
};

/** Triton's levels; what is not here means all. */
const graphLevels: ReadonlyMap<number, 'basic' | 'extended' | 'disabled'> = new Map([
  [-1, 'basic'],
  [1, 'extended'],
  [2, 'disabled'],
]);

const deviceAllocatorKey = 'session.use_device_allocator_for_initializers';

/** Triton's settings of the CUDA provider: they mean nothing on a CPU, and onnxruntime-node cannot hand them on to a GPU. */
const cudaKeys = ['cudnn_conv_algo_search', 'gpu_mem_limit', 'arena_extend_strategy', 'do_copy_in_default_stream'];

const refuseUncarried = (spec: ModelSpec, placement: Placement, backendConfig: ReadonlyMap<string, string>): void => {
  if (yesOrNo('enable-global-threadpool', backendConfig.get('enable-global-threadpool')) === true) {
    throw unsupported(spec, `backend-config 'enable-global-threadpool'`);
  }
  const keys = placement.kind === 'GPU' ? ['memory.enable_memory_arena_shrinkage', ...cudaKeys] : ['memory.enable_memory_arena_shrinkage'];
  for (const key of keys) if (spec.parameters.has(key)) throw unsupported(spec, `parameter '${key}'`);
  if (listAt(spec.config, 'model_operations', 'op_library_filename').length > 0) {
    throw unsupported(spec, `model_operations.op_library_filename`);
  }
  for (const list of ['gpu_execution_accelerator', 'cpu_execution_accelerator']) {
    for (const accelerator of listAt(spec.config, 'optimization', 'execution_accelerators', list)) refuseAccelerator(spec, accelerator);
  }
};

/** `cuda` without parameters asks for what a GPU instance has anyway. */
const refuseAccelerator = (spec: ModelSpec, accelerator: unknown): void => {
  const name = String(fieldOf(accelerator, 'name') ?? '');
  const parameters = fieldOf(accelerator, 'parameters');
  if (name === 'cuda' && (parameters === undefined || Object.keys(Object(parameters)).length === 0)) return;
  if (['cuda', 'tensorrt', 'openvino'].includes(name)) {
    throw unsupported(spec, name === 'cuda' ? `parameters of Execution Accelerator 'cuda'` : `Execution Accelerator '${name}'`);
  }
  throw new InferError('INVALID_ARGUMENT', `unknown Execution Accelerator '${name}' is requested`);
};

const unsupported = (spec: ModelSpec, what: string): InferError =>
  new InferError('UNIMPLEMENTED', `unable to load model '${spec.name}', ${what} is not supported: onnxruntime-node cannot carry it`);

const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;

const listAt = (value: unknown, ...path: readonly string[]): readonly unknown[] => {
  const found = path.reduce(fieldOf, value);
  return Array.isArray(found) ? found : [];
};

const wholeNumber = (key: string, text: string | undefined, fallback: number): number => {
  if (text === undefined) return fallback;
  if (!/^[+-]?\d+$/.test(text)) throw new InferError('INVALID_ARGUMENT', `failed to convert ${key} '${text}' to integral number`);
  const value = Number(text);
  if (value < 0 || value > highestCount) {
    throw new InferError('INVALID_ARGUMENT', `${key} must be from 0 to ${highestCount}, got ${text}`);
  }
  return value;
};

/** Beyond any machine; a session that asks for more threads than can be made takes the process with it. */
const highestCount = 1024;

const yesOrNo = (key: string, text: string | undefined): boolean | undefined => {
  if (text === undefined) return undefined;
  if (/^(true|on|1)$/i.test(text)) return true;
  if (/^(false|off|0)$/i.test(text)) return false;
  throw new InferError('INVALID_ARGUMENT', `failed to convert ${key} '${text}' to boolean value`);
};
