import { describe, expect, it } from 'vitest';
import { countBytesElements } from '../../../src/streams/tensors/bytes-elements.ts';
import { zeroTensor } from '../../../src/streams/tensors/zero-tensor.ts';

describe('zeroTensor', () => {
  it.each([
    ['FP32', [2, 3], 24],
    ['BOOL', [4], 4],
    ['INT64', [], 8],
    ['FP16', [0], 0],
    ['BYTES', [2, 2], 16],
  ] as const)('of %s %o has its bytes', (datatype, shape, byteLength) => {
    const tensor = zeroTensor(datatype, shape);
    expect([tensor.datatype, tensor.shape, tensor.byteLength]).toEqual([datatype, shape, byteLength]);
    expect(tensor.bytes.every((byte) => byte === 0)).toBe(true);
  });

  it('has empty strings', () => {
    const { buffer, start, end } = zeroTensor('BYTES', [3]);
    expect(countBytesElements(buffer, start, end)).toBe(3);
  });
});
