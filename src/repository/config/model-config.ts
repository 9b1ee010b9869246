import type { BatchInputKind } from '../../streams/inference/model-spec.ts';

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
  /** Always there once the config has been read. */
  readonly allow_ragged_batch?: boolean;
  readonly optional: boolean;
}

export interface ConfigOutput extends ConfigTensor {
  readonly label_filename: string;
}

export type ConfigVersionPolicy =
  | { readonly latest: { readonly num_versions: number } }
  | { readonly all: Readonly<Record<string, never>> }
  | { readonly specific: { readonly versions: readonly Int64[] } };

export interface ConfigBatchInput {
  readonly kind: BatchInputKind;
  readonly target_name: readonly string[];
  readonly data_type: string;
  readonly source_input: readonly string[];
}

export interface ConfigBatchOutput {
  readonly target_name: readonly string[];
  readonly kind: 'BATCH_SCATTER_WITH_INPUT_SHAPE';
  readonly source_input: readonly string[];
}

export interface ConfigQueuePolicy {
  readonly timeout_action: 'REJECT' | 'DELAY';
  readonly default_timeout_microseconds: Int64;
  readonly allow_timeout_override: boolean;
  readonly max_queue_size: number;
}

export interface ConfigDynamicBatching {
  readonly preferred_batch_size: readonly number[];
  readonly max_queue_delay_microseconds: Int64;
  readonly preserve_ordering: boolean;
  readonly priority_levels: Int64;
  readonly default_priority_level: Int64;
  readonly default_queue_policy?: ConfigQueuePolicy;
  /** By level, in digits. */
  readonly priority_queue_policy: Readonly<Record<string, ConfigQueuePolicy>>;
}

export type ConfigControlKind = 'CONTROL_SEQUENCE_START' | 'CONTROL_SEQUENCE_READY' | 'CONTROL_SEQUENCE_END' | 'CONTROL_SEQUENCE_CORRID';

export interface ConfigControl {
  readonly kind: ConfigControlKind;
  readonly int32_false_true: readonly number[];
  readonly fp32_false_true: readonly number[];
  readonly bool_false_true: readonly boolean[];
  readonly data_type: string;
}

export interface ConfigControlInput {
  readonly name: string;
  readonly control: readonly ConfigControl[];
}

export interface ConfigInitialState {
  readonly data_type: string;
  readonly dims: readonly Int64[];
  /** At most one of the two. */
  readonly zero_data?: boolean;
  readonly data_file?: string;
  readonly name: string;
}

export interface ConfigState {
  readonly input_name: string;
  readonly output_name: string;
  readonly data_type: string;
  readonly dims: readonly Int64[];
  readonly initial_state: readonly ConfigInitialState[];
  readonly use_same_buffer_for_input_output: boolean;
  readonly use_growable_memory: boolean;
}

export interface ConfigSequenceBatching {
  /** At most one of the two; direct where there is none. */
  readonly direct?: { readonly max_queue_delay_microseconds: Int64; readonly minimum_slot_utilization: number };
  readonly oldest?: {
    readonly max_candidate_sequences: number;
    readonly preferred_batch_size: readonly number[];
    readonly max_queue_delay_microseconds: Int64;
    readonly preserve_ordering: boolean;
  };
  readonly max_sequence_idle_microseconds: Int64;
  readonly control_input: readonly ConfigControlInput[];
  readonly state: readonly ConfigState[];
  readonly iterative_sequence: boolean;
}

export interface ConfigEnsembleStep {
  readonly model_name: string;
  /** −1 for the newest. */
  readonly model_version: Int64;
  /** Model's own name to the ensemble's. */
  readonly input_map: Readonly<Record<string, string>>;
  readonly output_map: Readonly<Record<string, string>>;
}

export interface ConfigEnsembling {
  readonly step: readonly ConfigEnsembleStep[];
  readonly max_inflight_requests: number;
}

export interface ConfigWarmupInput {
  readonly data_type: string;
  readonly dims: readonly Int64[];
  /** At most one of the three. */
  readonly zero_data?: boolean;
  readonly random_data?: boolean;
  readonly input_data_file?: string;
}

export interface ConfigWarmup {
  readonly name: string;
  readonly batch_size: number;
  readonly inputs: Readonly<Record<string, ConfigWarmupInput>>;
  readonly count: number;
}

export interface ConfigRateLimiter {
  readonly resources: readonly { readonly name: string; readonly global: boolean; readonly count: number }[];
  readonly priority: number;
}

export type ConfigInstanceKind = 'KIND_AUTO' | 'KIND_GPU' | 'KIND_CPU' | 'KIND_MODEL';

export interface ConfigInstanceGroup {
  readonly name: string;
  readonly kind: ConfigInstanceKind;
  readonly count: number;
  readonly rate_limiter?: ConfigRateLimiter;
  readonly gpus: readonly number[];
  readonly profile: readonly string[];
  readonly passive: boolean;
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
  readonly batch_input: readonly ConfigBatchInput[];
  readonly batch_output: readonly ConfigBatchOutput[];
  readonly optimization?: ConfigOptimization;
  readonly dynamic_batching?: ConfigDynamicBatching;
  readonly sequence_batching?: ConfigSequenceBatching;
  readonly ensemble_scheduling?: ConfigEnsembling;
  readonly instance_group: readonly ConfigInstanceGroup[];
  readonly default_model_filename: string;
  readonly parameters: Readonly<Record<string, { readonly string_value: string }>>;
  readonly model_warmup: readonly ConfigWarmup[];
  readonly model_transaction_policy?: { readonly decoupled: boolean };
  readonly response_cache?: { readonly enable: boolean };
}
