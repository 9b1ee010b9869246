import { toInferError } from '../../streams/inference/error.ts';
import { findMember } from '../../streams/inference/json/json-members.ts';
import type { JsonDocument } from '../../streams/inference/json/parse-document.ts';
import { readRequest } from '../../streams/inference/json/read-request.ts';
import type { Rendering } from '../../streams/inference/json/rendering.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { Frames, Parts } from './frames.ts';
import { MessageError } from './message-error.ts';
import type { InferMessage } from './parse-message.ts';

interface ReadMessageOptions {
  readonly frames: Frames;
  readonly parts: Parts;
  readonly spec: ModelSpec;
  readonly maxInputBytes: number;
}

interface ReadMessage {
  readonly request: InferRequest;
  readonly rendering: Rendering;
}

/**
 * Reads the request that a message carries.
 *
 * @throws InferError, and MessageError without an id when the sizes of the binary tensors are not those of the frame
 */
export const readMessage = ({ document, modelVersion }: InferMessage, options: ReadMessageOptions): ReadMessage => {
  const { frames, parts, spec, maxInputBytes } = options;
  const tail = { buffer: parts.buffer, start: parts.tensorStart, end: parts.buffer.length };
  try {
    const read = readRequest(document, { spec, modelVersion, tail, maxInputBytes });
    if (!frames.isBinary) refuseBinary(read);
    return read;
  } catch (error) {
    const { code, message } = toInferError(error);
    if (sizesAddUp(document, tail.end - tail.start)) throw error;
    throw new MessageError('', code, frames.isBinary ? message : `an input with 'binary_data_size' needs subprotocol weir.v2.binary`);
  }
};

const refuseBinary = ({ request, rendering: { listed, otherwise } }: ReadMessage): void => {
  for (const [name, rendering] of listed ?? []) {
    if (rendering === 'binary') {
      throw new MessageError(request.id, 'INVALID_ARGUMENT', `'binary_data' of output '${name}' needs subprotocol weir.v2.binary`);
    }
  }
  if (listed === undefined && otherwise === 'binary') {
    throw new MessageError(request.id, 'INVALID_ARGUMENT', `'binary_data_output' needs subprotocol weir.v2.binary`);
  }
};

/** Whether the inputs' `binary_data_size` make up exactly the bytes after the header. */
const sizesAddUp = ({ root }: JsonDocument, tensorBytes: number): boolean => {
  const inputs = findMember(root, 'inputs');
  let sum = 0;
  for (const input of Array.isArray(inputs) ? inputs : []) {
    sum += Number(findMember(findMember(input, 'parameters'), 'binary_data_size') ?? 0);
  }
  return sum === tensorBytes;
};
