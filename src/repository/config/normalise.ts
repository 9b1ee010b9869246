import type { ConfigDynamicBatching, ModelConfig } from './model-config.ts';

const withPreferred = (batching: ConfigDynamicBatching, maxBatchSize: number): ConfigDynamicBatching =>
  batching.preferred_batch_size.length > 0 || maxBatchSize <= 0 ? batching : { ...batching, preferred_batch_size: [maxBatchSize] };

/** Writes into the config the defaults that clients see there: version policy, preferred batch size, pinned memory. */
export const normalise = (config: ModelConfig): ModelConfig => ({
  ...config,
  version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
  optimization: {
    ...config.optimization,
    input_pinned_memory: config.optimization?.input_pinned_memory ?? { enable: true },
    output_pinned_memory: config.optimization?.output_pinned_memory ?? { enable: true },
  },
  ...(config.dynamic_batching === undefined ? {} : { dynamic_batching: withPreferred(config.dynamic_batching, config.max_batch_size) }),
});
