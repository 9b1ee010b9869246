import type { ModelSpec } from '../model-spec.ts';
import type { InferRequest } from '../request.ts';
import { asString, findMember, integerOfExactRoot, integerOfRoot } from './json-members.ts';
import type { JsonDocument } from './parse-document.ts';
import { readInputs } from './read-inputs.ts';
import { readOutputs } from './read-outputs.ts';
import { readParameters } from './read-parameters.ts';
import type { Rendering } from './rendering.ts';

/** Bytes from `start` to `end`. */
export interface ByteRange {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
}

export interface ReadRequestOptions {
  /** The model that the request is for. */
  readonly spec: ModelSpec;
  /** As the client named it; `''` for the newest. */
  readonly modelVersion: string;
  /** Bytes of binary tensors behind the JSON. */
  readonly tail: ByteRange;
  /** How large one tensor given as JSON may become. */
  readonly maxInputBytes: number;
}

export interface ReadRequest {
  readonly request: InferRequest;
  readonly rendering: Rendering;
}

/**
 * A Triton infer request, as HTTP bodies and WebSocket messages have it. The tensors of binary inputs are ranges of `tail.buffer`. Faults are
 * found in Triton's order: id, parameters, inputs, left-over bytes, outputs.
 *
 * @throws InferError
 */
export const readRequest = (document: JsonDocument, options: ReadRequestOptions): ReadRequest => {
  const isExact = document.hasFractionMembers;
  const root = isExact ? document.exactRoot : document.root;
  const readInteger = isExact ? integerOfExactRoot : integerOfRoot;
  const givenId = findMember(root, 'id');
  const id = givenId === undefined ? '' : asString(givenId, 'id');
  const reserved = readParameters(root, readInteger);
  const inputs = readInputs(root, { ...options, document, readInteger, requestId: id });
  const { outputs, rendering } = readOutputs(root, readInteger, reserved.isBinaryOutput ? 'binary' : 'json');
  const request: InferRequest = {
    modelName: options.spec.name,
    modelVersion: options.modelVersion,
    id,
    inputs,
    outputs,
    parameters: reserved.parameters,
    sequenceId: reserved.sequenceId,
    sequenceStart: reserved.sequenceStart,
    sequenceEnd: reserved.sequenceEnd,
    priority: reserved.priority,
    timeoutMicroseconds: reserved.timeoutMicroseconds,
  };
  return { request, rendering };
};
