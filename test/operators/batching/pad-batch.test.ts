import { describe, expect, it } from 'vitest';
import { padBatch } from '../../../src/operators/batching/pad-batch.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { ModelSpec, Padding } from '../../../src/streams/inference/model-spec.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makePart } from '../../support/model.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';

const padded = (padding: Partial<Padding>, fields: Partial<ModelSpec> = {}): ModelSpec =>
  modelSpec({
    maxBatchSize: 8,
    inputs: [inputSpec('X', 'FP32', [-1]), inputSpec('Y', 'BYTES', [-1, 2])],
    outputs: [outputSpec('O', 'FP32', [-1, 3])],
    batchOptions: {
      groupByParameter: undefined,
      unequalShapes: false,
      padding: { inputs: ['X'], value: 0, mask: undefined, outputs: [], ...padding },
    },
    ...fields,
  });

const x = (rows: number, length: number, from = 1): Tensor =>
  tensorFrom(
    'FP32',
    [rows, length],
    Array.from({ length: rows * length }, (_, index) => from + index),
  );

const values = (tensor: Tensor | undefined): unknown[] => (tensor === undefined ? [] : [...tensorValues(tensor)]);

describe('padBatch', () => {
  it('fills each row up to the longest, and copies none that is long enough', () => {
    const pad = padBatch(padded({ value: -1 }));
    const long = x(1, 3);
    const { requests } = pad?.([inferRequest({ X: x(2, 1) }), inferRequest({ X: long })]) ?? { requests: [] };
    expect(requests[0]?.inputs.get('X')).toMatchObject({ datatype: 'FP32', shape: [2, 3] });
    expect(values(requests[0]?.inputs.get('X'))).toEqual([1, -1, -1, 2, -1, -1]);
    expect(requests[1]?.inputs.get('X')).toBe(long);
  });

  it('says in a mask which elements are the client’s, of the first padded input', () => {
    const pad = padBatch(padded({ inputs: ['X', 'Y'], mask: { name: 'M', datatype: 'INT64' } }));
    const strings = (...texts: string[]) => tensorFrom('BYTES', [1, texts.length / 2, 2], texts);
    const { requests } = pad?.([
      inferRequest({ X: x(1, 2), Y: strings('a', 'b', 'c', 'd') }),
      inferRequest({ X: x(1, 3), Y: strings('e', 'f') }),
    ]) ?? { requests: [] };
    expect(requests.map(({ inputs }) => values(inputs.get('M')))).toEqual([
      [1n, 1n, 0n],
      [1n, 1n, 1n],
    ]);
    expect(requests.map(({ inputs }) => inputs.get('Y')).map((tensor) => tensor && tensorStrings(tensor))).toEqual([
      ['a', 'b', 'c', 'd'],
      ['e', 'f', '', ''],
    ]);
  });

  it('leaves a lone request as it is, but for its mask', () => {
    const lone = x(1, 2);
    const { requests } = padBatch(padded({ mask: { name: 'M', datatype: 'BOOL' } }))?.([inferRequest({ X: lone })]) ?? { requests: [] };
    expect(requests[0]?.inputs.get('X')).toBe(lone);
    expect(values(requests[0]?.inputs.get('M'))).toEqual([1, 1]);
  });

  it('cuts outputs back to what the client sent', () => {
    const batch = padBatch(padded({ outputs: ['O'] }))?.([inferRequest({ X: x(1, 1) }), inferRequest({ X: x(1, 2) })]);
    const O = tensorFrom('FP32', [1, 2, 3], [1, 2, 3, 4, 5, 6]);
    const other = x(1, 4);
    const cut = batch?.cut(
      makePart(0, {
        outputs: new Map([
          ['O', O],
          ['P', other],
        ]),
      }),
    );
    expect(cut?.outputs.get('O')).toMatchObject({ shape: [1, 1, 3] });
    expect(values(cut?.outputs.get('O'))).toEqual([1, 2, 3]);
    expect(cut?.outputs.get('P')).toBe(other);
    const whole = makePart(1, { outputs: new Map([['O', O]]) });
    expect(batch?.cut(whole)).toBe(whole);
  });

  it('fails the request whose output has another length than its batch', () => {
    const batch = padBatch(padded({ outputs: ['O'] }))?.([inferRequest({ X: x(1, 1) }), inferRequest({ X: x(1, 2) })]);
    const part = makePart(0, { outputs: new Map([['O', tensorFrom('FP32', [1, 1, 3], [1, 2, 3])]]) });
    expect(batch?.cut(part)).toMatchObject({
      error: {
        code: 'INTERNAL',
        reason: 'BACKEND',
        message: `output 'O' of model 'm' cannot be cut back to its request's size: expected [-1,2,-1], got [1,1,3]`,
      },
    });
  });

  it('keeps an error that the model gave', () => {
    const batch = padBatch(padded({ outputs: ['O'] }))?.([inferRequest({ X: x(1, 1) }), inferRequest({ X: x(1, 2) })]);
    const failed = makePart(0, { error: new InferError('INTERNAL', 'no') });
    expect(batch?.cut(failed)).toBe(failed);
  });

  it('refuses a batch that requests long along different axes would make far larger than they are', () => {
    const spec = padded({}, { inputs: [inputSpec('X', 'UINT8', [-1, -1])] });
    const bytes = (...shape: number[]) => new Tensor('UINT8', shape, new Uint8Array(40_000));
    const pad = padBatch(spec);
    expect(() => pad?.([inferRequest({ X: bytes(1, 1, 40_000) }), inferRequest({ X: bytes(1, 40_000, 1) })])).toThrow(
      `input 'X' of a batch of model 'm', filled up to its longest request, would take 3200000000 bytes, more than 1073741824`,
    );
  });

  it('is nothing to a model that does not pad', () => {
    expect(padBatch(modelSpec({ inputs: [inputSpec('X', 'FP32', [-1])] }))).toBeUndefined();
  });
});
