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

  it('cuts nothing that the model left out, and fails for an output of another rank', () => {
    const batch = padBatch(padded({ outputs: ['O'] }))?.([inferRequest({ X: x(1, 1) }), inferRequest({ X: x(1, 2) })]);
    expect(batch?.cut(makePart(0, { outputs: new Map([['P', x(1, 4)]]) }))).toMatchObject({ error: undefined });
    const part = makePart(0, { outputs: new Map([['O', x(1, 2)]]) });
    expect(batch?.cut(part).error?.message).toMatch(/expected \[-1,2,-1\], got \[1,2\]/);
  });

  it('cuts back along each axis', () => {
    const spec = padded(
      { inputs: ['X'], outputs: ['O'] },
      { inputs: [inputSpec('X', 'UINT8', [-1, -1])], outputs: [outputSpec('O', 'UINT8', [-1, -1])] },
    );
    const bytes = (...shape: number[]) =>
      tensorFrom(
        'UINT8',
        shape,
        Array.from({ length: (shape[1] ?? 0) * (shape[2] ?? 0) }, (_, n) => n),
      );
    const batch = padBatch(spec)?.([inferRequest({ X: bytes(1, 1, 3) }), inferRequest({ X: bytes(1, 2, 2) })]);
    const O = bytes(1, 2, 3);
    const cut = [0, 1].map((of) => batch?.cut(makePart(of, { outputs: new Map([['O', O]]) })).outputs.get('O'));
    expect(cut.map((tensor) => [tensor?.shape, values(tensor)])).toEqual([
      [
        [1, 1, 3],
        [0, 1, 2],
      ],
      [
        [1, 2, 2],
        [0, 1, 3, 4],
      ],
    ]);
  });

  it('keeps an error that the model gave', () => {
    const batch = padBatch(padded({ outputs: ['O'] }))?.([inferRequest({ X: x(1, 1) }), inferRequest({ X: x(1, 2) })]);
    const failed = makePart(0, { error: new InferError('INTERNAL', 'no') });
    expect(batch?.cut(failed)).toBe(failed);
  });

  it.each([
    ['UINT8', 40_000],
    ['FP32', 20_000],
    ['BYTES', 40_000],
  ] as const)('refuses a batch that requests long along different axes would make far larger than they are, of %s', (datatype, long) => {
    const spec = padded({}, { inputs: [inputSpec('X', datatype, [-1, -1])] });
    const bytes = (...shape: number[]) => new Tensor(datatype, shape, new Uint8Array(4 * long));
    const pad = padBatch(spec);
    expect(() => pad?.([inferRequest({ X: bytes(1, 1, long) }), inferRequest({ X: bytes(1, long, 1) })])).toThrow(
      `input 'X' of a batch of model 'm', filled up to its longest request, would take 3200000000 bytes, more than 1073741824`,
    );
  });

  it('leaves alone what is not listed, and what is not there', () => {
    const pad = padBatch(padded({ value: 3, outputs: ['O'], mask: { name: 'M', datatype: 'BOOL' } }));
    const Y = tensorFrom('BYTES', [1, 1, 2], ['a', 'b']);
    const batch = pad?.([inferRequest({ Y }), inferRequest({ X: x(1, 2), Y: tensorFrom('BYTES', [1, 2, 2], ['a', 'b', 'c', 'd']) })]);
    expect(batch?.requests[0]?.inputs).toEqual(new Map([['Y', Y]]));
    expect(batch?.requests[0]?.inputs.get('Y')).toBe(Y);
    const part = makePart(0, { outputs: new Map([['O', tensorFrom('FP32', [1, 2, 3], [1, 2, 3, 4, 5, 6])]]) });
    expect(batch?.cut(part)).toBe(part);
    expect(pad?.([inferRequest({ Y })]).requests[0]?.inputs.get('Y')).toBe(Y);
    expect(padBatch(padded({ inputs: ['Z'] }))).toBeUndefined();
  });

  it('fills up with false, where that is the value, and without a batch dimension too', () => {
    const pad = padBatch(padded({}, { maxBatchSize: 0, inputs: [inputSpec('X', 'BOOL', [-1])] }));
    const { requests } = pad?.([1, 3].map((length) => inferRequest({ X: tensorFrom('BOOL', [length], Array(length).fill(true)) }))) ?? {
      requests: [],
    };
    expect(requests.map(({ inputs }) => values(inputs.get('X')))).toEqual([
      [1, 0, 0],
      [1, 1, 1],
    ]);
  });

  it('is nothing to a model that does not pad', () => {
    expect(padBatch(modelSpec({ inputs: [inputSpec('X', 'FP32', [-1])] }))).toBeUndefined();
  });
});
