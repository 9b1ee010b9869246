import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { ModelConfig } from './model-config.ts';

/** Models whose answers cannot be kept, whether or not the server has a cache. Decoupled models are not among them, unlike in Triton. */
export const checkCache = ({ name, response_cache, sequence_batching }: ModelConfig): readonly Finding[] => {
  if (response_cache?.enable !== true || sequence_batching === undefined) return [];
  const text = `Response Cache does not currently support model ${name} with sequence batching scheduler. Please disable the response cache.`;
  return [fault('response_cache.enable', text)];
};
