/** Bytes of the little-endian length before each element of a BYTES tensor. */
export const lengthPrefixBytes = 4;

/** The length written at `at`; what lies past the end of `buffer` reads as 0. */
export const readLength = (buffer: Uint8Array, at: number): number =>
  ((buffer[at] ?? 0) | ((buffer[at + 1] ?? 0) << 8) | ((buffer[at + 2] ?? 0) << 16) | ((buffer[at + 3] ?? 0) << 24)) >>> 0;

const writeLength = (buffer: Uint8Array, at: number, length: number): void => {
  buffer[at] = length;
  buffer[at + 1] = length >>> 8;
  buffer[at + 2] = length >>> 16;
  buffer[at + 3] = length >>> 24;
};

/**
 * Counts the elements between `start` and `end`, and stops at `limit + 1`. Allocates nothing. For bytes that are no whole number of elements
 * it answers `~position`, a negative number: `position` is where in `buffer` the broken element begins.
 */
export const countBytesElements = (buffer: Uint8Array, start: number, end: number, limit = Number.MAX_SAFE_INTEGER): number => {
  let count = 0;
  let position = start;
  while (position < end) {
    if (end - position < lengthPrefixBytes) return ~position;
    if (count === limit) return count + 1;
    const next = position + lengthPrefixBytes + readLength(buffer, position);
    if (next > end) return ~position;
    position = next;
    count++;
  }
  return count;
};

/** Thrown for a BYTES tensor whose bytes are not the elements that its shape promises. */
export class BytesLayoutError extends RangeError {
  override readonly name = 'BytesLayoutError';
}

/** Where in `buffer` the element after the next `count` ones begins. @throws BytesLayoutError */
export const skipBytesElements = (buffer: Uint8Array, start: number, end: number, count: number): number => {
  let position = start;
  for (let index = 0; index < count; index++) {
    const next = position + lengthPrefixBytes + readLength(buffer, position);
    if (end - position < lengthPrefixBytes || next > end) throw new BytesLayoutError(`expected ${count} string elements, got ${index}`);
    position = next;
  }
  return position;
};

/** @throws BytesLayoutError unless there are exactly `count` whole elements between `start` and `end` */
export const checkBytesElements = (buffer: Uint8Array, start: number, end: number, count: number): void => {
  const found = countBytesElements(buffer, start, end, count);
  if (found === count) return;
  const got = found < 0 ? `one cut off at byte ${~found - start}` : found > count ? 'more' : found;
  throw new BytesLayoutError(`expected ${count} string elements, got ${got}`);
};

/** Calls `visit` with the range of each of `count` elements, length prefix left out, in order. @throws BytesLayoutError before the first call */
export const visitBytesElements = (
  buffer: Uint8Array,
  start: number,
  end: number,
  count: number,
  visit: (start: number, end: number, index: number) => void,
): void => {
  checkBytesElements(buffer, start, end, count);
  let position = start;
  for (let index = 0; index < count; index++) {
    const from = position + lengthPrefixBytes;
    position = from + readLength(buffer, position);
    visit(from, position, index);
  }
};

/** The wire form of elements; strings become UTF-8. */
export const encodeBytesElements = (elements: readonly (string | Uint8Array)[]): Uint8Array => {
  let byteLength = 0;
  for (const element of elements) byteLength += lengthPrefixBytes + elementLength(element);
  const buffer = Buffer.allocUnsafe(byteLength);
  let position = 0;
  for (const element of elements) position = writeBytesElement(buffer, position, element);
  return buffer;
};

/** Writes one element with its length at `at`; answers where the next one begins. The room must be there: 4 bytes and the element's own. */
export const writeBytesElement = (buffer: Buffer, at: number, element: string | Uint8Array): number => {
  const bodyStart = at + lengthPrefixBytes;
  let length = element.length;
  if (typeof element === 'string') length = buffer.write(element, bodyStart, 'utf8');
  else buffer.set(element, bodyStart);
  writeLength(buffer, at, length);
  return bodyStart + length;
};

/** Bytes of an element without its length prefix. */
export const elementLength = (element: string | Uint8Array): number =>
  typeof element === 'string' ? Buffer.byteLength(element, 'utf8') : element.byteLength;
