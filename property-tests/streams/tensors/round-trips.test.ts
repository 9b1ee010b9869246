import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatInto } from '../../../src/streams/tensors/concat.ts';
import { bf16ToNumber, fp16ToNumber, numberToBf16, numberToFp16 } from '../../../src/streams/tensors/half.ts';
import { jsonValuesByteSize, readJsonValues, writeJsonValues } from '../../../src/streams/tensors/json-values.ts';
import { elementCount } from '../../../src/streams/tensors/shape.ts';
import { splitRows } from '../../../src/streams/tensors/split.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFromData } from '../../../src/streams/tensors/tensor-from-data.ts';
import { type TensorValue, tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { anyDatatype, anyShape, anyTensor, tensorOf } from '../../arbitraries/tensors.ts';
import { propertyParameters } from '../../parameters.ts';

/** Buffers and Uint8Arrays alike. */
const listOf = (values: ReturnType<typeof tensorValues>): unknown[] =>
  Array.from<unknown, unknown>(values, (value) => (value instanceof Uint8Array ? [...value] : value));

const bytesOf = (tensor: Tensor): number[] => [...tensor.bytes];

describe('every datatype', () => {
  // Kills: offsets of a Binary column that begin at 0 whatever the slice; a view of the wrong element size.
  it('goes to Arrow and back, whole or as a slice', () => {
    fc.assert(
      fc.property(anyTensor, fc.nat(), fc.nat(), (tensor, a, b) => {
        const whole = tensorFromData(tensor.datatype, tensor.shape, tensor.data);
        expect(bytesOf(whole)).toEqual(bytesOf(tensor));
        const count = elementCount(tensor.shape);
        const first = a % (count + 1);
        const length = b % (count - first + 1);
        const slice = tensorFromData(tensor.datatype, [length], tensor.data.slice(first, length));
        const flat = new Tensor(tensor.datatype, [count], tensor.buffer, tensor.start, tensor.end);
        const [, cut] = splitRows(flat, [first, length]);
        expect(bytesOf(slice)).toEqual(cut === undefined ? [] : bytesOf(cut));
      }),
      propertyParameters(),
    );
  });

  // Kills: copying from `start` of the view instead of the buffer; losing the sign of a zero, the payload of an integer, a NUL.
  it('goes to values and back', () => {
    fc.assert(
      fc.property(anyTensor, (tensor) => {
        const { datatype, shape } = tensor;
        const values = tensorValues(tensor);
        expect(values.length).toBe(elementCount(shape));
        const list: TensorValue[] = [...values];
        const back = tensorFrom(datatype, shape, datatype === 'BOOL' ? list.map((value) => value === 1) : list);
        // NaNs have many bits and one value.
        expect(listOf(tensorValues(back))).toEqual(listOf(values));
        if (!datatype.includes('F')) expect(bytesOf(back)).toEqual(bytesOf(tensor));
      }),
      propertyParameters(),
    );
  });

  // Kills: 64-bit integers through doubles; FP32 printed short; NaN as null; strings cut at NUL.
  it('goes to JSON text and back, where it has a JSON form', () => {
    const withText = anyTensor.filter(({ datatype }) => datatype !== 'FP16' && datatype !== 'BF16');
    fc.assert(
      fc.property(withText, (tensor) => {
        const { datatype, shape } = tensor;
        let text: string;
        try {
          text = writeJsonValues(tensor);
        } catch (error) {
          expect(() => tensorStrings(tensor), String(error)).toThrow();
          return;
        }
        const values = parseWide(text);
        const count = elementCount(shape);
        const into = new Uint8Array(jsonValuesByteSize(datatype, values, count));
        expect(readJsonValues(datatype, values, count, into)).toBe(into.byteLength);
        expect(listOf(tensorValues(new Tensor(datatype, shape, into)))).toEqual(listOf(tensorValues(tensor)));
      }),
      propertyParameters(),
    );
  });

  // Kills: rows counted in elements; BYTES cut by size; an offset forgotten between pieces.
  it('is split into rows and put together again without a change', () => {
    const anyBatch = fc
      .tuple(anyDatatype, fc.array(fc.nat(3), { minLength: 1, maxLength: 4 }), anyShape)
      .chain(([datatype, rows, rest]) =>
        fc.tuple(tensorOf(datatype, [rows.reduce((a, b) => a + b, 0), ...rest]), fc.constant(rows), fc.nat(5)),
      );
    fc.assert(
      fc.property(anyBatch, ([tensor, rows, offset]) => {
        const pieces = splitRows(tensor, rows);
        expect(pieces.map((piece) => piece.shape)).toEqual(rows.map((count) => [count, ...tensor.shape.slice(1)]));
        expect(pieces.every((piece) => piece.buffer === tensor.buffer)).toBe(true);
        const target = Buffer.alloc(offset + tensor.byteLength + 1, 0x5a);
        expect(concatInto(target, offset, pieces)).toBe(offset + tensor.byteLength);
        expect([...target]).toEqual([...Array(offset).fill(0x5a), ...bytesOf(tensor), 0x5a]);
      }),
      propertyParameters(),
    );
  });
});

describe('halves', () => {
  const everyCode = Array.from({ length: 0x1_0000 }, (_, code) => code);

  it('keep every FP16 and BF16', () => {
    const isNan = (bits: number, exponent: number): boolean => (bits & exponent) === exponent && (bits & ~exponent & 0x7fff) !== 0;
    const damaged = everyCode.filter(
      (bits) =>
        (isNan(bits, 0x7c00) ? !Number.isNaN(fp16ToNumber(bits)) : numberToFp16(fp16ToNumber(bits)) !== bits) ||
        (isNan(bits, 0x7f80) ? !Number.isNaN(bf16ToNumber(bits)) : numberToBf16(bf16ToNumber(bits)) !== bits),
    );
    expect(damaged).toEqual([]);
  });

  // Kills: truncation, ties away from zero, a step of the wrong binade.
  it('round to the nearest, ties to the even one', () => {
    const sides = everyCode.slice(0, 0x7bff).map((bits) => {
      const middle = (fp16ToNumber(bits) + fp16ToNumber(bits + 1)) / 2;
      const even = bits % 2 === 0 ? bits : bits + 1;
      const above = numberToFp16(middle * (1 + Number.EPSILON)) === bits + 1;
      const below = numberToFp16(middle * (1 - Number.EPSILON)) === bits;
      return above && below && numberToFp16(middle) === even && numberToFp16(-middle) === (even | 0x8000);
    });
    expect(sides.indexOf(false)).toBe(-1);
    const bf16Sides = everyCode.slice(0, 0x7f7f).map((bits) => {
      const middle = (bf16ToNumber(bits) + bf16ToNumber(bits + 1)) / 2;
      return numberToBf16(middle) === (bits % 2 === 0 ? bits : bits + 1);
    });
    expect(bf16Sides.indexOf(false)).toBe(-1);
  });
});

/** A parser for this test alone: integers past 2^53 as bigint, and the tokens that JSON does not have. */
const parseWide = (text: string): unknown => {
  if (text.includes('"')) return JSON.parse(text);
  const body = text.slice(1, -1);
  if (body === '') return [];
  return body.split(',').map((token) => {
    if (token === 'true' || token === 'false') return token === 'true';
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))) return BigInt(token);
    return Number(token);
  });
};
