import { describe, expect, it } from 'vitest';
import { sessionOptions } from '../../../src/backends/onnxruntime/session-options.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import { makePlacement } from '../../support/model.ts';
import { modelSpec } from '../../support/request-fixtures.ts';
import { cpu } from './workbench.ts';

type Settings = Readonly<Record<string, string>>;

const mapOf = (settings: Settings): ReadonlyMap<string, string> => new Map(Object.entries(settings));

const optionsOf = (parameters: Settings, backend: Settings = {}, fields: Partial<ModelSpec> = {}) =>
  sessionOptions(modelSpec({ name: 'm', ...fields, parameters: mapOf(parameters) }), cpu, mapOf(backend));

describe('sessionOptions', () => {
  it('takes the model before the backend, and one thread without either', () => {
    expect(optionsOf({})).toEqual({
      intraOpNumThreads: 1,
      interOpNumThreads: 0,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      executionProviders: ['cpu'],
    });
    const backend = { intra_op_thread_count: '3', inter_op_thread_count: '5' };
    expect(optionsOf({}, backend)).toMatchObject({ intraOpNumThreads: 3, interOpNumThreads: 5 });
    expect(optionsOf({ intra_op_thread_count: '0' }, backend)).toMatchObject({ intraOpNumThreads: 0, interOpNumThreads: 5 });
  });

  it('hands the other settings on', () => {
    const parameters = {
      execution_mode: '1',
      enable_mem_arena: '0',
      enable_mem_pattern: 'TRUE',
      'session.use_device_allocator_for_initializers': 'on',
    };
    expect(optionsOf(parameters)).toMatchObject({
      executionMode: 'parallel',
      enableCpuMemArena: false,
      enableMemPattern: true,
      extra: { session: { use_device_allocator_for_initializers: '1' } },
    });
  });

  it.each([
    [-1, 'basic'],
    [0, 'all'],
    [1, 'extended'],
    [2, 'disabled'],
    [7, 'all'],
  ])('reads graph level %i as %s', (graphLevel, expected) => {
    expect(optionsOf({}, {}, { graphLevel })).toMatchObject({ graphOptimizationLevel: expected });
  });

  it.each([
    ['intra_op_thread_count', 'two', `failed to convert intra_op_thread_count 'two' to integral number`],
    ['inter_op_thread_count', '', `failed to convert inter_op_thread_count '' to integral number`],
    ['execution_mode', '1.5', `failed to convert execution_mode '1.5' to integral number`],
    ['intra_op_thread_count', '-1', 'intra_op_thread_count must be from 0 to 1024, got -1'],
    ['intra_op_thread_count', '99999', 'intra_op_thread_count must be from 0 to 1024, got 99999'],
    ['enable_mem_arena', 'maybe', `failed to convert enable_mem_arena 'maybe' to boolean value`],
    ['enable_mem_pattern', '2', `failed to convert enable_mem_pattern '2' to boolean value`],
  ])('refuses %s of %o', (key, value, message) => {
    expect(() => optionsOf({ [key]: value })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', message }));
  });

  it('names what onnxruntime-node cannot carry', () => {
    const unable = (what: string) =>
      expect.objectContaining({
        code: 'UNIMPLEMENTED',
        message: `unable to load model 'm', ${what} is not supported: onnxruntime-node cannot carry it`,
      });
    expect(() => optionsOf({}, { 'enable-global-threadpool': '1' })).toThrow(unable(`backend-config 'enable-global-threadpool'`));
    expect(() => optionsOf({ 'memory.enable_memory_arena_shrinkage': 'cpu:0' })).toThrow(
      unable(`parameter 'memory.enable_memory_arena_shrinkage'`),
    );
    const withConfig = (config: ModelSpec['config']) => () => optionsOf({}, {}, { config });
    expect(withConfig({ model_operations: { op_library_filename: ['ops.so'] } })).toThrow(unable('model_operations.op_library_filename'));
    const accelerator = (list: string, name: string, parameters = {}) =>
      withConfig({ optimization: { execution_accelerators: { [list]: [{ name, parameters }] } } });
    expect(accelerator('gpu_execution_accelerator', 'tensorrt')).toThrow(unable(`Execution Accelerator 'tensorrt'`));
    expect(accelerator('cpu_execution_accelerator', 'openvino')).toThrow(unable(`Execution Accelerator 'openvino'`));
    expect(accelerator('gpu_execution_accelerator', 'cuda', { do_copy_in_default_stream: '1' })).toThrow(
      unable(`parameters of Execution Accelerator 'cuda'`),
    );
    expect(accelerator('cpu_execution_accelerator', 'abacus')).toThrow(`unknown Execution Accelerator 'abacus' is requested`);
    expect(accelerator('gpu_execution_accelerator', 'cuda')).not.toThrow();
  });

  it('asks for CUDA on a GPU, and refuses settings of it that cannot be handed on', () => {
    const gpu = makePlacement({ kind: 'GPU', device: 1 });
    expect(sessionOptions(modelSpec({}), gpu, mapOf({}))).toMatchObject({ executionProviders: [{ name: 'cuda', deviceId: 1 }, 'cpu'] });
    const limited = modelSpec({ parameters: mapOf({ gpu_mem_limit: '1000' }) });
    expect(() => sessionOptions(limited, gpu, mapOf({}))).toThrow(`parameter 'gpu_mem_limit' is not supported`);
    expect(() => sessionOptions(limited, cpu, mapOf({}))).not.toThrow();
  });
});
