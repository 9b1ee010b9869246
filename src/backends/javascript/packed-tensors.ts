import type { Datatype } from '../../streams/tensors/datatype.ts';
import type { Shape } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { alignUp } from './align-up.ts';

/** A tensor in memory that goes with it from one thread to the other. */
export interface PackedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly start: number;
  readonly end: number;
}

export interface PackedTensors {
  readonly tensors: readonly PackedTensor[];
  /** To be transferred. */
  readonly memory: ArrayBuffer;
}

/** Copies tensors, once, into memory of their own. */
export const packTensors = (entries: Iterable<readonly [string, Tensor]>): PackedTensors => {
  const tensors: PackedTensor[] = [];
  const sources: Tensor[] = [];
  let size = 0;
  for (const [name, tensor] of entries) {
    const start = alignUp(size);
    size = start + tensor.byteLength;
    tensors.push({ name, datatype: tensor.datatype, shape: tensor.shape, start, end: size });
    sources.push(tensor);
  }
  // Not of Buffer's pool, which cannot be given away; and every byte but the gaps is written below.
  const target = Buffer.allocUnsafeSlow(size);
  for (const [index, { buffer, start, end }] of sources.entries()) {
    Buffer.prototype.copy.call(buffer, target, tensors[index]?.start, start, end);
  }
  return { tensors, memory: target.buffer };
};

export const unpackTensors = (tensors: readonly PackedTensor[], memory: ArrayBuffer): ReadonlyMap<string, Tensor> => {
  const buffer = Buffer.from(memory);
  return new Map(tensors.map(({ name, datatype, shape, start, end }) => [name, new Tensor(datatype, shape, buffer, start, end)]));
};
