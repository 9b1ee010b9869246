import { forwardHeaders, type HeaderPattern } from '../../streams/inference/header-forwarding.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { parseInputs } from './parse-inputs.ts';
import { parseOutputs } from './parse-outputs.ts';
import { parseParameters } from './parse-parameters.ts';
import type { WireRequest } from './wire/infer-request.ts';

/** A call's metadata, and which of them become parameters of its requests. */
export interface ForwardedMetadata {
  readonly isForwarded: HeaderPattern;
  readonly entries: Iterable<readonly [name: string, value: string]>;
}

export interface ParsedRequest {
  readonly request: InferRequest;
  readonly wantsEmptyFinal: boolean;
}

/**
 * What a client asked, for the model that it named; tensors are ranges of the message. What the model thinks of shapes and sizes comes later.
 *
 * @throws InferError in Triton's order: parameters, metadata, inputs, outputs
 */
export const parseRequest = (
  wire: WireRequest,
  version: string,
  spec: ModelSpec,
  forwarded: ForwardedMetadata | undefined,
): ParsedRequest => {
  const parameters = parseParameters(wire.parameters);
  const others = forwarded === undefined ? parameters.others : forwardHeaders(forwarded.isForwarded, forwarded.entries, parameters.others);
  const inputs = parseInputs(wire, spec);
  const request: InferRequest = {
    modelName: wire.modelName,
    modelVersion: version,
    id: wire.id,
    inputs,
    outputs: parseOutputs(wire.outputs),
    parameters: others,
    sequenceId: parameters.sequenceId,
    sequenceStart: parameters.sequenceStart,
    sequenceEnd: parameters.sequenceEnd,
    priority: parameters.priority,
    timeoutMicroseconds: parameters.timeoutMicroseconds,
  };
  return { request, wantsEmptyFinal: parameters.wantsEmptyFinal };
};
