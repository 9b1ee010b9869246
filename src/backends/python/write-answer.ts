import type { Tensors } from '../../streams/tensors/tensor.ts';
import type { Block } from './arena.ts';
import type { ProcessMemory } from './process-memory.ts';
import { codeOf } from './tensor-codes.ts';
import { aligned, copyBytes } from './write-batch.ts';

export interface WrittenAnswer {
  readonly block: Block;
  readonly length: number;
}

/** Bytes of the two lengths before the head. */
const lengths = 8;

/**
 * Puts another model's answer where the process reads it: how long the head is, where the elements begin, the head as JSON, the elements. Each byte of a
 * tensor is copied once.
 *
 * @throws InferError when there is no memory left
 */
export const writeAnswer = (memory: ProcessMemory, outputs: Tensors, parameters: string): WrittenAnswer => {
  const places: unknown[] = [];
  let end = 0;
  for (const [name, { datatype, shape, byteLength }] of outputs) {
    places.push([name, codeOf(datatype), shape, end, byteLength]);
    end += aligned(byteLength);
  }
  const head = Buffer.from(JSON.stringify({ outputs: places, parameters }));
  const start = aligned(lengths + head.byteLength);
  const length = start + end;
  const block = memory.arena.take(length);
  const { buffer } = block.segment.memory;
  buffer.writeUInt32LE(head.byteLength, block.offset);
  buffer.writeUInt32LE(start, block.offset + 4);
  head.copy(buffer, block.offset + lengths);
  let at = block.offset + start;
  for (const tensor of outputs.values()) {
    copyBytes(tensor.buffer, tensor.start, tensor.end, buffer, at);
    at += aligned(tensor.byteLength);
  }
  return { block, length };
};
