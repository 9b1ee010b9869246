import { InferError } from '../../streams/inference/error.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { madeBuffer } from '../../streams/tensors/young-buffers.ts';
import type { Subprotocol } from './choose-subprotocol.ts';

/** Where the parts of a message lie in its frame. */
export interface Parts {
  readonly buffer: Buffer;
  readonly jsonStart: number;
  readonly jsonEnd: number;
  /** Tensor bytes go from here to the end of `buffer`. */
  readonly tensorStart: number;
}

/** One subprotocol: how a message lies in a frame. */
export interface Frames {
  readonly isBinary: boolean;
  /** @throws InferError when the frame is no message */
  split(frame: Buffer): Parts;
  /** Copies the tensors: they may be views of memory that the next batch overwrites. */
  join(json: string, tensors: readonly Tensor[]): Buffer;
}

const lengthBytes = 4;

const jsonFrames: Frames = {
  isBinary: false,
  split: (frame) => ({ buffer: frame, jsonStart: 0, jsonEnd: frame.length, tensorStart: frame.length }),
  join: (json) => Buffer.from(json),
};

const binaryFrames: Frames = {
  isBinary: true,
  split: (frame) => {
    if (frame.length < lengthBytes) {
      throw new InferError('INVALID_ARGUMENT', `message of ${frame.length} bytes has no header length, which takes ${lengthBytes} bytes`);
    }
    const length = frame.readUInt32LE(0);
    const rest = frame.length - lengthBytes;
    if (length > rest) {
      throw new InferError('INVALID_ARGUMENT', `header length ${length} is out of range, the message has ${rest} bytes after it`);
    }
    const jsonEnd = lengthBytes + length;
    return { buffer: frame, jsonStart: lengthBytes, jsonEnd, tensorStart: jsonEnd };
  },
  join: (json, tensors) => {
    const jsonBytes = Buffer.byteLength(json);
    let size = lengthBytes + jsonBytes;
    for (const tensor of tensors) size += tensor.byteLength;
    madeBuffer(size);
    const frame = Buffer.allocUnsafe(size);
    let at = frame.writeUInt32LE(jsonBytes, 0);
    at += frame.write(json, at);
    for (const { buffer, start, end } of tensors) {
      frame.set(buffer.subarray(start, end), at);
      at += end - start;
    }
    return frame;
  },
};

export const framesOf: Readonly<Record<Subprotocol, Frames>> = { 'weir.v2.json': jsonFrames, 'weir.v2.binary': binaryFrames };
