/** The bytes are no valid message. Nothing of what they say can be trusted, not even an id. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
export const FIXED32 = 5;

const longestVarint = 10;

/** Far more than any model has; a message of nothing but empty inputs would otherwise grow to fifty times its size here. */
const mostParts = 100_000;

const truncated = (): MalformedMessage => new MalformedMessage('the message is truncated');

/**
 * Reads protobuf's wire format from a range of a buffer without copying. Every read stays inside the range or throws `MalformedMessage`. It
 * takes what protobuf's own parsers take: varints longer than need be, values with more bits than their type has (the upper ones are dropped).
 */
export class WireReader {
  readonly bytes: Buffer;
  position: number;
  end: number;
  /** Lower and upper 32 bits of the last `readVarint64`, both unsigned. */
  low = 0;
  high = 0;
  #parts = 0;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  get hasMore(): boolean {
    return this.position < this.end;
  }

  /** Field number times 8 plus wire type. */
  readTag(): number {
    const tag = this.#readShortVarint('tag', 0xf);
    if (tag < 8) throw new MalformedMessage('field number 0');
    return tag;
  }

  /** Reads a length and checks that so much is there: the range is from `position` to the number returned. Does not move past it. */
  readRangeEnd(): number {
    const length = this.#readShortVarint('length', 0x7);
    if (length > this.end - this.position) throw truncated();
    return this.position + length;
  }

  /** Lower 32 bits, unsigned. */
  readVarint32(): number {
    if (this.position < this.end) {
      const byte = this.bytes[this.position] as number;
      if (byte < 0x80) {
        this.position++;
        return byte;
      }
    }
    this.readVarint64();
    return this.low;
  }

  readVarint64(): void {
    let low = 0;
    let high = 0;
    for (let index = 0; index < longestVarint; index++) {
      if (this.position >= this.end) throw truncated();
      const byte = this.bytes[this.position++] as number;
      const bits = byte & 0x7f;
      const shift = index * 7;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high |= bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) {
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw new MalformedMessage('a number of more than 10 bytes');
  }

  readBool(): boolean {
    this.readVarint64();
    return this.low !== 0 || this.high !== 0;
  }

  readInt64(): bigint {
    this.readVarint64();
    if (this.high === 0) return BigInt(this.low);
    return (BigInt(this.high | 0) << 32n) | BigInt(this.low);
  }

  readUint64(): bigint {
    this.readVarint64();
    if (this.high === 0) return BigInt(this.low);
    return (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  /** A signed 64-bit integer as a number: exact up to 2^53, near it beyond. */
  readInt64AsNumber(): number {
    this.readVarint64();
    return (this.high | 0) * 0x1_0000_0000 + this.low;
  }

  readDouble(): number {
    const at = this.position;
    this.advance(8);
    return this.bytes.readDoubleLE(at);
  }

  /** Counts something that stays in memory for as long as the message does. */
  countPart(): void {
    if (++this.#parts > mostParts) throw new MalformedMessage(`more than ${mostParts} inputs, outputs, parameters and dimensions`);
  }

  advance(count: number): void {
    if (count > this.end - this.position) throw truncated();
    this.position += count;
  }

  /** Passes over a field that nobody here knows, whose tag has been read. */
  skip(wireType: number): void {
    if (wireType === VARINT) this.readVarint64();
    else if (wireType === FIXED64) this.advance(8);
    else if (wireType === LENGTH) this.position = this.readRangeEnd();
    else if (wireType === FIXED32) this.advance(4);
    else throw new MalformedMessage(`a field of wire type ${wireType}`);
  }

  /** A varint of at most five bytes, of whose last `lastMask` may be set. */
  #readShortVarint(what: string, lastMask: number): number {
    let value = 0;
    for (let index = 0; index < 5; index++) {
      if (this.position >= this.end) throw truncated();
      const byte = this.bytes[this.position++] as number;
      if (index === 4 && byte > lastMask) break;
      value = (value | ((byte & 0x7f) << (index * 7))) >>> 0;
      if (byte < 0x80) return value;
    }
    throw new MalformedMessage(`a ${what} out of range`);
  }
}
