import type { Tensor } from '../../streams/tensors/tensor.ts';
import { type GivenParameters, givenParameters } from './given-parameters.ts';
import { kindOf } from './kind-of.ts';
import { inputTensor } from './made-tensor.ts';
import type { CallOptions, ModelCall } from './model-call.ts';
import { ModelError } from './model-module.ts';
import { toWireParameters } from './wire-parameters.ts';
import type { CallMade } from './worker-protocol.ts';

/** A call to another model, as the main thread takes it; its inputs are still where the model has them. */
export interface GivenCall {
  readonly fields: Omit<CallMade, 'kind' | 'call' | 'slot' | 'of' | 'answers' | 'inputs' | 'memory'>;
  readonly inputs: readonly (readonly [string, Tensor])[];
}

const wrong = (what: string, wanted: string, got: unknown): ModelError =>
  new ModelError(`${what} of a call: expected ${wanted}, got ${kindOf(got)}`);

const textOf = (what: string, given: unknown): string => {
  if (given === undefined) return '';
  if (typeof given === 'string') return given;
  throw wrong(what, 'a string', given);
};

/** An unsigned integer of 64 bits. */
const wideOf = (what: string, given: unknown): bigint => {
  if (given === undefined) return 0n;
  if (typeof given !== 'bigint' && typeof given !== 'number') throw wrong(what, 'a bigint or number', given);
  if (typeof given === 'bigint' || Number.isSafeInteger(given)) {
    const wide = BigInt(given);
    if (BigInt.asUintN(64, wide) === wide) return wide;
  }
  throw new ModelError(`${what} of a call: ${given} is no unsigned integer of 64 bits`);
};

const outputsOf = (given: unknown): readonly string[] => {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw wrong('outputs', 'an array of names', given);
  return given.map((name: unknown) => textOf('outputs', name));
};

const inputsOf = (given: ModelCall['inputs']): GivenCall['inputs'] => {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || given instanceof Map)
    throw wrong('inputs', 'an object', given);
  return Object.entries(given).map(([name, made]) => [name, inputTensor(name, made)]);
};

/** @throws ModelError INTERNAL for what is no call */
export const givenCall = (call: ModelCall, ownId: string, { signal }: CallOptions): GivenCall => {
  if (typeof call !== 'object' || call === null) throw new ModelError(`expected { model, inputs } as a call, got ${kindOf(call)}`);
  const { model, sequenceId } = call;
  if (typeof model !== 'string') throw wrong('model', 'a name', model);
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') throw wrong('signal', 'an AbortSignal', signal);
  const parameters: GivenParameters | undefined = call.parameters;
  return {
    fields: {
      model,
      version: textOf('version', call.version),
      id: call.id === undefined ? ownId : textOf('id', call.id),
      outputs: outputsOf(call.outputs),
      parameters: toWireParameters(givenParameters(parameters)),
      sequenceId: typeof sequenceId === 'string' ? sequenceId : wideOf('sequenceId', sequenceId),
      sequenceStart: call.sequenceStart === true,
      sequenceEnd: call.sequenceEnd === true,
      priority: wideOf('priority', call.priority),
      timeoutMicroseconds: wideOf('timeoutMicroseconds', call.timeoutMicroseconds),
    },
    inputs: inputsOf(call.inputs),
  };
};
