import { expect, it } from 'vitest';
import { cudaHint } from '../../../src/backends/onnxruntime/gpu-devices.ts';

it('says how to get the CUDA libraries where ONNX Runtime misses them, and nothing elsewhere', () => {
  const missing = 'OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library';
  expect(cudaHint(missing)).toMatch(new RegExp(`^${missing}\\. KIND_GPU needs .*--onnxruntime-node-install=cuda12$`));
  expect(cudaHint('Protobuf parsing failed.')).toBe('Protobuf parsing failed.');
});
