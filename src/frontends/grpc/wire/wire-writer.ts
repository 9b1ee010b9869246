/** Bytes of the varint of a whole number from 0 to 2^53. */
export const varintLength = (value: number): number => {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  if (value < 0x1000_0000) return 4;
  let length = 5;
  for (let rest = value / 0x8_0000_0000; rest >= 1; rest /= 0x80) length++;
  return length;
};

/** Writes it and says where it ends. */
export const writeVarint = (target: Buffer, at: number, value: number): number => {
  let position = at;
  let rest = value;
  while (rest >= 0x1000_0000) {
    target[position++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  while (rest >= 0x80) {
    target[position++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[position++] = rest;
  return position;
};

/** Bytes of the varint of a 64-bit integer; a negative one takes all ten. */
export const varint64Length = (value: bigint): number => {
  let length = 1;
  for (let rest = BigInt.asUintN(64, value) >> 7n; rest > 0n; rest >>= 7n) length++;
  return length;
};

export const writeVarint64 = (target: Buffer, at: number, value: bigint): number => {
  let position = at;
  let rest = BigInt.asUintN(64, value);
  while (rest >= 0x80n) {
    target[position++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  target[position++] = Number(rest);
  return position;
};

/** Bytes of a field of `length` bytes, tag and length included; for field numbers up to 15. */
export const rangeFieldLength = (length: number): number => 1 + varintLength(length) + length;

/** Tag and length of such a field: its bytes come next. */
export const writeRangeHead = (target: Buffer, at: number, field: number, length: number): number => {
  target[at] = (field << 3) | 2;
  return writeVarint(target, at + 1, length);
};

/** A whole string field; nothing for `''`, which is what a missing one means. */
export const stringField = (field: number, text: string): Buffer => {
  const length = Buffer.byteLength(text);
  if (length === 0) return Buffer.alloc(0);
  const bytes = Buffer.allocUnsafeSlow(rangeFieldLength(length));
  bytes.write(text, writeRangeHead(bytes, 0, field, length));
  return bytes;
};
