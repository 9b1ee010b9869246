import { expect, it } from 'vitest';
import { copyTensor } from '../../../src/streams/tensors/copy-tensor.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';

const memories = {
  'a Uint8Array': (): Uint8Array => Uint8Array.of(1, 2, 3, 4),
  'a Buffer': (): Uint8Array => Buffer.from([1, 2, 3, 4]),
  'a Buffer over shared memory': (): Uint8Array => {
    const memory = Buffer.from(new SharedArrayBuffer(4));
    memory.set([1, 2, 3, 4]);
    return memory;
  },
};

it.each(Object.entries(memories))('keeps its elements when %s is written again', (_, make) => {
  const memory = make();
  const copy = copyTensor(new Tensor('UINT8', [2], memory, 1, 3));
  memory.fill(9);
  expect([copy.datatype, copy.shape, [...copy.bytes], copy.buffer.length]).toEqual(['UINT8', [2], [2, 3], 2]);
});
