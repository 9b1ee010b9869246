import { type Frame, frameBytes, frameFlags, readFrame } from './frames.ts';

const noPayload = Buffer.alloc(0);

/** Payloads are texts about the process, never tensors. */
const longestPayload = 64 * 2 ** 20;

/**
 * Cuts a stream of bytes into messages. Payloads are views of the chunk, valid during the call.
 *
 * @throws RangeError for a payload that no process of ours sends
 */
export const frameReader = (onFrame: (frame: Frame, payload: Buffer) => void): ((chunk: Buffer) => void) => {
  let rest = noPayload;
  return (chunk) => {
    const bytes = rest.byteLength === 0 ? chunk : Buffer.concat([rest, chunk]);
    rest = noPayload;
    let at = 0;
    while (bytes.byteLength - at >= frameBytes) {
      const frame = readFrame(bytes, at);
      const isInline = (frame.flags & frameFlags.inline) !== 0;
      if (isInline && frame.length > longestPayload) throw new RangeError(`a message of ${frame.length} bytes`);
      const end = at + frameBytes + (isInline ? frame.length : 0);
      if (end > bytes.byteLength) break;
      onFrame(frame, isInline ? bytes.subarray(at + frameBytes, end) : noPayload);
      at = end;
    }
    if (at < bytes.byteLength) rest = Buffer.from(bytes.subarray(at));
  };
};
