/**
 * Messages between server and process, 32 bytes each; `stub/weir_stub/frames.py` is the other half.
 *
 * | at | field | |
 * |---|---|---|
 * | 0 | kind | u8, below |
 * | 1 | flags | u8; with `inline`, `length` bytes of payload follow the message |
 * | 2 | segment | u16, of the sender's memory |
 * | 4 | id | u32, of the batch, call, check or question |
 * | 8 | block | u32, of the sender's memory |
 * | 12 | freed | u32, a block of the receiver's memory that the sender no longer reads; 0 for none |
 * | 16 | offset | u64, in the segment; of a `segment` its size |
 * | 24 | length | u64, in bytes |
 */
export const frameBytes = 32;

export const toProcess = {
  start: 1,
  segment: 2,
  drop: 3,
  batch: 4,
  callAnswer: 5,
  free: 6,
  stop: 7,
  check: 8,
  reply: 9,
} as const;

export const fromProcess = {
  segment: 2,
  drop: 3,
  free: 6,
  alive: 32,
  ready: 33,
  failed: 34,
  answers: 37,
  executed: 38,
  call: 39,
  cancelCall: 40,
  taken: 41,
  log: 42,
  ask: 43,
  metric: 44,
  checked: 45,
  abandoned: 46,
} as const;

export const frameFlags = { inline: 0x80, isLast: 1, isError: 2, isDecoupled: 1, hasFailed: 1, isExecuted: 1 } as const;

export interface Frame {
  readonly kind: number;
  readonly flags: number;
  readonly segment: number;
  readonly id: number;
  readonly block: number;
  readonly freed: number;
  readonly offset: number;
  readonly length: number;
}

const two32 = 2 ** 32;

/** A whole number below 2^53, as the eight bytes of a u64. */
export const writeSize = (buffer: Buffer, at: number, size: number): void => {
  buffer.writeUInt32LE(size % two32, at);
  buffer.writeUInt32LE(Math.floor(size / two32), at + 4);
};

export const readSize = (buffer: Buffer, at: number): number => buffer.readUInt32LE(at) + buffer.readUInt32LE(at + 4) * two32;

export const writeFrame = (buffer: Buffer, at: number, { kind, flags, segment, id, block, freed, offset, length }: Frame): void => {
  buffer[at] = kind;
  buffer[at + 1] = flags;
  buffer.writeUInt16LE(segment, at + 2);
  buffer.writeUInt32LE(id, at + 4);
  buffer.writeUInt32LE(block, at + 8);
  buffer.writeUInt32LE(freed, at + 12);
  writeSize(buffer, at + 16, offset);
  writeSize(buffer, at + 24, length);
};

export const readFrame = (buffer: Buffer, at: number): Frame => ({
  kind: buffer[at] ?? 0,
  flags: buffer[at + 1] ?? 0,
  segment: buffer.readUInt16LE(at + 2),
  id: buffer.readUInt32LE(at + 4),
  block: buffer.readUInt32LE(at + 8),
  freed: buffer.readUInt32LE(at + 12),
  offset: readSize(buffer, at + 16),
  length: readSize(buffer, at + 24),
});
