import { InferError } from '../../streams/inference/error.ts';
import type { WireParameters } from './wire/infer-parameter.ts';

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message);

const sizes = ['shared_memory_offset', 'shared_memory_byte_size'] as const;

/**
 * Whether a tensor's parameters name a region of shared memory.
 *
 * @throws InferError when they do not agree with each other
 */
export const usesSharedMemory = (tensorName: string, parameters: WireParameters | undefined): boolean => {
  if (parameters === undefined) return false;
  const region = parameters.get('shared_memory_region');
  if (region !== undefined && region.kind !== 'string_param') {
    throw invalid(`invalid value type for 'shared_memory_region' parameter for tensor '${tensorName}', expected string_param.`);
  }
  for (const key of sizes) {
    const size = parameters.get(key);
    if (size === undefined) continue;
    if (region === undefined) {
      throw invalid(`'${key}' can not be specified without 'shared_memory_region' parameter for tensor '${tensorName}'`);
    }
    if (size.kind !== 'int64_param') {
      throw invalid(`invalid value type for '${key}' parameter for tensor '${tensorName}', expected int64_param.`);
    }
  }
  if (region !== undefined && !parameters.has('shared_memory_byte_size')) {
    throw invalid(`'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '${tensorName}'`);
  }
  return region !== undefined;
};

export const sharedMemoryNotSupported = (tensorName: string): InferError =>
  new InferError('UNIMPLEMENTED', `shared memory for tensor '${tensorName}' is not supported by this version of Weir`);
