/** A 64-bit field: a number where that is exact, else a bigint. */
export type Int64 = number | bigint;

export interface ConfigTensor {
  readonly name: string;
  /** `TYPE_…`. */
  readonly data_type: string;
  readonly dims: readonly Int64[];
  readonly reshape?: { readonly shape: readonly Int64[] };
}

export interface ConfigInput extends ConfigTensor {
  readonly format: string;
  readonly optional: boolean;
}

export interface ConfigOutput extends ConfigTensor {
  readonly label_filename: string;
}

export type ConfigVersionPolicy =
  | { readonly latest: { readonly num_versions: number } }
  | { readonly all: Readonly<Record<string, never>> }
  | { readonly specific: { readonly versions: readonly Int64[] } };

export interface ConfigDynamicBatching {
  readonly preferred_batch_size: readonly number[];
  readonly max_queue_delay_microseconds: Int64;
  readonly priority_levels: Int64;
  readonly default_priority_level: Int64;
  readonly default_queue_policy?: { readonly max_queue_size: number };
}

export type ConfigInstanceKind = 'KIND_AUTO' | 'KIND_GPU' | 'KIND_CPU' | 'KIND_MODEL';

export interface ConfigInstanceGroup {
  readonly name: string;
  readonly kind: ConfigInstanceKind;
  readonly count: number;
  readonly gpus: readonly number[];
  readonly profile: readonly string[];
}

export interface ConfigOptimization {
  readonly graph?: { readonly level: number };
  readonly input_pinned_memory?: { readonly enable: boolean };
  readonly output_pinned_memory?: { readonly enable: boolean };
}

/**
 * A ModelConfig message as `toDocument` gives it: every scalar, list and map is there, messages that were not set are not. The fields that
 * this server reads; what else the message has is carried along.
 */
export interface ModelConfig {
  readonly name: string;
  readonly platform: string;
  readonly backend: string;
  readonly version_policy?: ConfigVersionPolicy;
  readonly max_batch_size: number;
  readonly input: readonly ConfigInput[];
  readonly output: readonly ConfigOutput[];
  readonly optimization?: ConfigOptimization;
  readonly dynamic_batching?: ConfigDynamicBatching;
  readonly sequence_batching?: unknown;
  readonly ensemble_scheduling?: unknown;
  readonly instance_group: readonly ConfigInstanceGroup[];
  readonly default_model_filename: string;
  readonly parameters: Readonly<Record<string, { readonly string_value: string }>>;
  readonly model_transaction_policy?: { readonly decoupled: boolean };
}
