import type { ConfigDynamicBatching, ConfigOptimization, ConfigSequenceBatching, ModelConfig } from './model-config.ts';

const defaultIdleMicroseconds = 1_000_000;

interface Preferring {
  readonly preferred_batch_size: readonly number[];
}

const withPreferred = <Batching extends Preferring>(batching: Batching, maxBatchSize: number): Batching =>
  batching.preferred_batch_size.length > 0 || maxBatchSize <= 0 ? batching : { ...batching, preferred_batch_size: [maxBatchSize] };

const normaliseSequences = (sequences: ConfigSequenceBatching, maxBatchSize: number): ConfigSequenceBatching => ({
  ...sequences,
  max_sequence_idle_microseconds: sequences.max_sequence_idle_microseconds || defaultIdleMicroseconds,
  ...(sequences.oldest === undefined ? {} : { oldest: withPreferred(sequences.oldest, maxBatchSize) }),
});

type Schedulers = Pick<ModelConfig, 'dynamic_batching' | 'sequence_batching'>;

const normaliseSchedulers = ({ max_batch_size, dynamic_batching, sequence_batching }: ModelConfig): Schedulers => ({
  ...(dynamic_batching === undefined ? {} : { dynamic_batching: withPreferred<ConfigDynamicBatching>(dynamic_batching, max_batch_size) }),
  ...(sequence_batching === undefined ? {} : { sequence_batching: normaliseSequences(sequence_batching, max_batch_size) }),
});

const withPinnedMemory = (optimization: ConfigOptimization | undefined): ConfigOptimization => ({
  ...optimization,
  input_pinned_memory: optimization?.input_pinned_memory ?? { enable: true },
  output_pinned_memory: optimization?.output_pinned_memory ?? { enable: true },
});

/** Writes into the config the defaults that clients see there: version policy, preferred batch sizes, idle time of sequences, pinned memory. */
export const normalise = (config: ModelConfig): ModelConfig => ({
  ...config,
  version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
  // An ensemble has none.
  ...(config.platform === 'ensemble' ? {} : { optimization: withPinnedMemory(config.optimization) }),
  ...normaliseSchedulers(config),
});
