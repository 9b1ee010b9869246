import type { ControlInput, SequenceBatching, SequenceStrategy, StateSpec } from '../../streams/inference/model-spec.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { ascending } from './compile-batching.ts';
import { datatypeOf } from './datatypes.ts';
import type { ConfigControl, ConfigControlKind, ConfigSequenceBatching, ModelConfig } from './model-config.ts';
import { idsOf } from './sequence-ids.ts';

/** In the order in which Triton writes them, so that of two kinds in one tensor the later one stands. */
const kinds = {
  CONTROL_SEQUENCE_START: 'START',
  CONTROL_SEQUENCE_END: 'END',
  CONTROL_SEQUENCE_READY: 'READY',
  CONTROL_SEQUENCE_CORRID: 'CORRID',
} as const satisfies Record<ConfigControlKind, ControlInput['kind']>;

const compileControl = (name: string, control: ConfigControl): ControlInput | undefined => {
  const kind = kinds[control.kind];
  if (kind === 'CORRID') {
    const datatype = idsOf(control.data_type);
    return datatype === undefined ? undefined : { kind, name, datatype };
  }
  const { int32_false_true: int32, fp32_false_true: fp32, bool_false_true: bool } = control;
  if (int32.length > 0) return { kind, name, datatype: 'INT32', whenFalse: int32[0] ?? 0, whenTrue: int32[1] ?? 1 };
  if (fp32.length > 0) return { kind, name, datatype: 'FP32', whenFalse: fp32[0] ?? 0, whenTrue: fp32[1] ?? 1 };
  return { kind, name, datatype: 'BOOL', whenFalse: Number(bool[0] ?? false), whenTrue: Number(bool[1] ?? true) };
};

const compileControls = ({ control_input }: ConfigSequenceBatching): readonly ControlInput[] => {
  const controls = control_input.flatMap(({ name, control }) => control.map((each) => compileControl(name, each)));
  const order = Object.values(kinds);
  const sorted = controls.filter((control) => control !== undefined).toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  return sorted.filter(({ name }, index) => sorted.findLastIndex((other) => other.name === name) === index);
};

const compileStrategy = ({ oldest, direct }: ConfigSequenceBatching, maxBatchSize: number): SequenceStrategy => {
  if (oldest === undefined) {
    return {
      kind: 'direct',
      maxQueueDelayMs: Number(direct?.max_queue_delay_microseconds ?? 0) / 1000,
      minimumSlotUtilization: direct?.minimum_slot_utilization ?? 0,
    };
  }
  const candidates = oldest.max_candidate_sequences;
  return {
    kind: 'oldest',
    maxCandidateSequences: candidates > 0 ? candidates : Math.max(1, maxBatchSize),
    preferredBatchSizes: ascending(oldest.preferred_batch_size),
    maxQueueDelayMs: Number(oldest.max_queue_delay_microseconds) / 1000,
    preserveOrdering: oldest.preserve_ordering,
  };
};

/** A state without datatype is no input that a model could take. */
const compileStates = ({ state }: ConfigSequenceBatching, initials: readonly Tensor[]): readonly StateSpec[] =>
  state.flatMap(({ input_name, output_name, data_type, dims }, index) => {
    const datatype = datatypeOf(data_type);
    const initial = initials[index];
    if (datatype === undefined || initial === undefined) return [];
    return [{ inputName: input_name, outputName: output_name, datatype, dims: dims.map(Number), initial }];
  });

export interface CompileSequencesConfig {
  /** By state. */
  readonly initials: readonly Tensor[];
  readonly endsIdleWithStep: boolean;
}

/** Turns `sequence_batching` of a checked config into what its scheduler needs. */
export const compileSequences = (
  { max_batch_size, sequence_batching: sequences }: ModelConfig,
  { initials, endsIdleWithStep }: CompileSequencesConfig,
): SequenceBatching | undefined => {
  if (sequences === undefined) return undefined;
  return {
    strategy: compileStrategy(sequences, max_batch_size),
    maxIdleMs: Number(sequences.max_sequence_idle_microseconds) / 1000,
    controls: compileControls(sequences),
    states: compileStates(sequences, initials),
    isIterative: sequences.iterative_sequence,
    endsIdleWithStep,
  };
};
