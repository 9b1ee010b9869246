import { InferError } from '../../streams/inference/error.ts';
import type { Parameters, ParameterValue } from '../../streams/inference/parameters.ts';

/** To which sequence what a step has answered belongs, in the place of the request's own. */
export interface SequenceOverride {
  readonly sequenceId: bigint | string;
  readonly sequenceStart: boolean;
  readonly sequenceEnd: boolean;
}

const flag = (name: string, value: ParameterValue | undefined): boolean | undefined => {
  if (value === undefined || typeof value === 'boolean') return value;
  throw new InferError('INVALID_ARGUMENT', `expect parameter '${name}' to be TRITONSERVER_PARAMETER_BOOL`);
};

/**
 * What the parameters of a step's answer say of its sequence, upon what held before; undefined where they say nothing.
 *
 * @throws InferError INVALID_ARGUMENT for a value of another kind
 */
export const sequenceOverride = (parameters: Parameters, before: SequenceOverride): SequenceOverride | undefined => {
  if (parameters.size === 0) return undefined;
  const id = parameters.get('sequence_id');
  if (id !== undefined && typeof id !== 'bigint' && typeof id !== 'string') {
    const text = "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING";
    throw new InferError('INVALID_ARGUMENT', text);
  }
  const start = flag('sequence_start', parameters.get('sequence_start'));
  const end = flag('sequence_end', parameters.get('sequence_end'));
  if (id === undefined && start === undefined && end === undefined) return undefined;
  return {
    sequenceId: id ?? before.sequenceId,
    sequenceStart: start ?? before.sequenceStart,
    sequenceEnd: end ?? before.sequenceEnd,
  };
};

export const isSameSequence = (a: SequenceOverride, b: SequenceOverride): boolean =>
  a.sequenceId === b.sequenceId && a.sequenceStart === b.sequenceStart && a.sequenceEnd === b.sequenceEnd;

const toParameters = ({ sequenceId, sequenceStart, sequenceEnd }: SequenceOverride): Parameters =>
  new Map<string, ParameterValue>([
    ['sequence_id', sequenceId],
    ['sequence_start', sequenceStart],
    ['sequence_end', sequenceEnd],
  ]);

const noSequence = toParameters({ sequenceId: 0n, sequenceStart: false, sequenceEnd: false });

/** As every answer of an ensemble says it, of a request without a sequence too. */
export const sequenceParameters = (sequence: SequenceOverride): Parameters => {
  const { sequenceId, sequenceStart, sequenceEnd } = sequence;
  return sequenceId === 0n && !sequenceStart && !sequenceEnd ? noSequence : toParameters(sequence);
};
