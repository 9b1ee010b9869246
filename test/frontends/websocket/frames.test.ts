import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { framesOf } from '../../../src/frontends/websocket/frames.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';

const binary = framesOf['weir.v2.binary'];

describe('binary frames', () => {
  // Kills: a length that counts itself; a tensor copied from the start of its buffer.
  it('split into what was joined', () => {
    const range = fc.uint8Array({ maxLength: 40 }).chain((buffer) =>
      fc.tuple(fc.constant(buffer), fc.nat(buffer.length), fc.nat(buffer.length)).map(([bytes, a, b]) => {
        const [start, end] = [Math.min(a, b), Math.max(a, b)];
        return new Tensor('UINT8', [end - start], bytes, start, end);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(range, { maxLength: 4 }), (json, tensors) => {
        const frame = binary.join(json, tensors);
        const { buffer, jsonStart, jsonEnd, tensorStart } = binary.split(frame);
        expect(buffer.toString('utf8', jsonStart, jsonEnd)).toBe(json);
        expect([...buffer.subarray(tensorStart)]).toEqual(tensors.flatMap((tensor) => [...tensor.bytes]));
      }),
    );
  });

  it('do not keep a view of the tensors', () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const frame = binary.join('', [new Tensor('UINT8', [3], bytes)]);
    bytes.fill(0);
    expect([...frame.subarray(4)]).toEqual([1, 2, 3]);
  });

  it.each([
    [[], 'message of 0 bytes has no header length, which takes 4 bytes'],
    [[1, 0, 0], 'message of 3 bytes has no header length, which takes 4 bytes'],
    [[2, 0, 0, 0, 65], 'header length 2 is out of range, the message has 1 bytes after it'],
    [[255, 255, 255, 255], 'header length 4294967295 is out of range, the message has 0 bytes after it'],
  ])('are refused when they are %j', (bytes, message) => {
    expect(() => binary.split(Buffer.from(bytes))).toThrow(message);
  });
});
