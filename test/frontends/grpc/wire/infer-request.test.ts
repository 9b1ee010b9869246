import { describe, expect, it } from 'vitest';
import { readInferRequest } from '../../../../src/frontends/grpc/wire/infer-request.ts';
import { StringTable } from '../../../../src/frontends/grpc/wire/string-table.ts';

const strings = new StringTable();
const read = (hex: string) => readInferRequest(Buffer.from(hex.replaceAll(' ', ''), 'hex'), strings);

describe('readInferRequest', () => {
  it('leaves tensor data where it is', () => {
    const message = Buffer.from('3a03aabbcc3a00', 'hex');
    const { bytes, rawContents } = readInferRequest(message, strings);
    expect(bytes).toBe(message);
    expect(rawContents).toEqual([2, 5, 7, 7]);
  });

  it.each([
    ['a length past the end', '0a 05 61', 'the message is truncated'],
    ['an inner length past the outer one', '2a 03 0a 05 61 61 61 61 61', 'the message is truncated'],
    ['a number past the end of its message', '2a 02 18 ff 01', 'the message is truncated'],
    ['half a double', '22 06 12 04 21 00 00 00', 'the message is truncated'],
    ['a number of eleven bytes', '50 80 80 80 80 80 80 80 80 80 80 01', 'a number of more than 10 bytes'],
    ['a tag of six bytes', '8a 80 80 80 80 00 00', 'a tag out of range'],
    ['a length of 2^31', '0a 80 80 80 80 08', 'a length out of range'],
    ['field 0', '02 00', 'field number 0'],
    ['a group', '53 54', 'a field of wire type 3'],
    ['wire type 7', '57', 'a field of wire type 7'],
    ['a name that is no UTF-8', '0a 01 ff', 'a string that is no UTF-8'],
  ])('refuses %s', (_, hex, message) => {
    expect(() => read(hex)).toThrow(message);
  });

  it('does not let a message of nothing but empty inputs grow fifty times larger here', () => {
    const inputs = Buffer.alloc(400_000, Buffer.of(0x2a, 0x00));
    expect(() => readInferRequest(inputs, strings)).toThrow('more than 100000 inputs, outputs, parameters and dimensions');
    const dimensions = Buffer.concat([Buffer.from('2ac49a0c1ac09a0c', 'hex'), Buffer.alloc(200_000, 1)]);
    expect(() => readInferRequest(dimensions, strings)).toThrow('more than 100000');
  });
});
