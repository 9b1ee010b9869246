import { InferError } from '../streams/inference/error.ts';
import type { Registry } from './registry.ts';

/** Why there is no such version that is ready. */
export const lookupError = (registry: Registry, name: string, version: string): InferError => {
  const beginning = `Request for unknown model: '${name}'`;
  if (!registry.has(name)) return new InferError('NOT_FOUND', `${beginning} is not found`);
  if (version === '') return new InferError('NOT_FOUND', `${beginning} has no available versions`);
  if (registry.stateOf(name, version) === undefined) return new InferError('NOT_FOUND', `${beginning} version ${version} is not found`);
  return new InferError('UNAVAILABLE', `${beginning} version ${version} is not at ready state`);
};
