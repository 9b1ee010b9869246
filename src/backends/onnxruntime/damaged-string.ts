import { isUtf8 } from 'node:buffer';
import { visitBytesElements } from '../../streams/tensors/bytes-elements.ts';
import { elementCount } from '../../streams/tensors/shape.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';

/**
 * What keeps a BYTES tensor from reaching a model whole: onnxruntime-node takes JavaScript strings, whose bytes are UTF-8, and cuts them at
 * a NUL character. Undefined when every element survives.
 *
 * @throws BytesLayoutError
 */
export const damagedString = ({ shape, buffer, start, end }: Tensor): string | undefined => {
  let found: string | undefined;
  visitBytesElements(buffer, start, end, elementCount(shape), (from, to, index) => {
    const fault = found === undefined ? faultOf(buffer, from, to) : undefined;
    if (fault !== undefined) found = `the string at index ${index} ${fault}`;
  });
  return found;
};

const faultOf = (buffer: Uint8Array, from: number, to: number): string | undefined => {
  let bits = 0;
  for (let at = from; at < to; at++) {
    const byte = buffer[at] ?? 0;
    if (byte === 0) return 'holds a NUL character';
    bits |= byte;
  }
  return bits < 0x80 || isUtf8(buffer.subarray(from, to)) ? undefined : 'is not valid UTF-8';
};
