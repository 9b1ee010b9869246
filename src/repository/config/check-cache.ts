import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import type { ModelConfig } from './model-config.ts';

/** Models whose answers cannot be kept, whether or not the server has a cache. */
export const checkCache = (config: ModelConfig): readonly Finding[] => {
  const { name, response_cache, sequence_batching, model_transaction_policy } = config;
  if (response_cache?.enable !== true) return [];
  const refused = (what: string): Finding =>
    fault(
      'response_cache.enable',
      `Response Cache does not currently support model ${name} with ${what}. Please disable the response cache.`,
    );
  return [
    ...(sequence_batching === undefined ? [] : [refused('sequence batching scheduler')]),
    ...(model_transaction_policy?.decoupled === true ? [refused("'decoupled' transaction policy")] : []),
  ];
};
