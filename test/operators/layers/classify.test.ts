import { describe, expect, it } from 'vitest';
import { classify } from '../../../src/operators/layers/classify.ts';
import { formatClassValue } from '../../../src/operators/layers/format-class-value.ts';
import type { Infer } from '../../../src/streams/inference/infer.ts';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { type TensorValue, tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings } from '../../../src/streams/tensors/tensor-values.ts';
import { answering, collect, failureOf, inferRequest, inferResponse, modelSpec, outputSpec } from '../../support/request-fixtures.ts';

interface Case {
  readonly maxBatchSize?: number;
  readonly labels?: readonly string[];
  readonly classes: number;
}

const layerFor = (tensor: Tensor, { maxBatchSize = 0, labels = [] }: Case): ((next: Infer) => Infer) =>
  classify(modelSpec({ maxBatchSize, outputs: [outputSpec('O', tensor.datatype, [-1], { labels }), outputSpec('P', 'BYTES', [1])] }));

const request = (classes: number) =>
  inferRequest(
    {},
    {
      outputs: [
        { name: 'O', classification: classes },
        { name: 'P', classification: 0 },
      ],
    },
  );

const classesOf = (tensor: Tensor, one: Case): { shape: Shape; texts: readonly string[] } => {
  const { values, error } = collect(layerFor(tensor, one)(answering(inferResponse({ O: tensor })))(request(one.classes)));
  if (error !== undefined) throw error;
  const output = values[0]?.outputs.get('O');
  return output === undefined ? { shape: [-1], texts: [] } : { shape: output.shape, texts: tensorStrings(output) };
};

const vector = (datatype: Datatype, values: readonly TensorValue[]): Tensor => tensorFrom(datatype, [values.length], values);

describe('classes', () => {
  it('come highest first, as many as there are at most', () => {
    const scores = vector('FP32', [0.25, 0.5, -1]);
    expect(classesOf(scores, { classes: 10, labels: ['cat', 'dog'] })).toEqual({
      shape: [3],
      texts: ['0.500000:1:dog', '0.250000:0:cat', '-1.000000:2'],
    });
    expect(classesOf(scores, { classes: 1 })).toEqual({ shape: [1], texts: ['0.500000:1'] });
  });

  it('are found in each row of a batch', () => {
    const scores = tensorFrom('FP32', [2, 3], [1, 2, 3, 9, 8, 7]);
    expect(classesOf(scores, { maxBatchSize: 4, classes: 10 })).toEqual({
      shape: [2, 3],
      texts: ['3.000000:2', '2.000000:1', '1.000000:0', '9.000000:0', '8.000000:1', '7.000000:2'],
    });
    expect(classesOf(scores, { maxBatchSize: 4, classes: 1 })).toEqual({ shape: [2, 1], texts: ['3.000000:2', '9.000000:0'] });
  });

  it('take all dimensions but the batch as one', () => {
    const scores = tensorFrom('INT32', [2, 3], [1, 6, 3, 4, 5, 2]);
    expect(classesOf(scores, { classes: 1, labels: ['', 'b'] })).toEqual({ shape: [1], texts: ['6:1:b'] });
    expect(classesOf(scores, { classes: 2, labels: ['', 'b'] })).toEqual({ shape: [2], texts: ['6:1:b', '5:4'] });
    expect(classesOf(tensorFrom('FP64', [], [3]), { classes: 2, labels: [''] })).toEqual({ shape: [1], texts: ['3.000000:0'] });
  });

  it('keep the order of equals, put NaN last and are read at any alignment', () => {
    const mixed = [1, Number.NaN, 1, 2, Number.NaN, Number.NaN, 1, Number.NaN];
    const sorted = ['2.000000:3', '1.000000:0', '1.000000:2', '1.000000:6', 'nan:1', 'nan:4', 'nan:5', 'nan:7'];
    for (const classes of [9, 6, 5, 2]) expect(classesOf(vector('FP32', mixed), { classes }).texts).toEqual(sorted.slice(0, classes));
    const buffer = new Uint8Array(17);
    buffer.set(vector('INT64', [-5n, 2n ** 62n]).bytes, 1);
    expect(classesOf(new Tensor('INT64', [2], buffer, 1), { classes: 2 }).texts).toEqual(['4611686018427387904:1', '-5:0']);
  });

  it('are none where there are no elements', () => {
    expect(classesOf(tensorFrom('FP32', [0], []), { classes: 3 })).toEqual({ shape: [0], texts: [] });
    expect(classesOf(tensorFrom('FP32', [2, 0], []), { classes: 3, maxBatchSize: 2 })).toEqual({ shape: [2, 0], texts: [] });
  });

  it('are those that sorting finds, of many', () => {
    const values = Array.from({ length: 5000 }, (_, index) => (index * 7919) % 257);
    const sorted = values.map((value, index) => ({ value, index })).sort((a, b) => b.value - a.value || a.index - b.index);
    for (const classes of [1, 2, 100, 5000]) {
      const { texts } = classesOf(vector('UINT16', values), { classes });
      expect(texts).toEqual(sorted.slice(0, classes).map(({ value, index }) => `${value}:${index}`));
    }
  });
});

it('leaves other outputs, and requests that ask for none, alone', () => {
  const response = inferResponse({ O: vector('FP32', [1]), P: vector('BYTES', ['x']) });
  const layer = layerFor(vector('FP32', [1]), { classes: 1 });
  expect(collect(layer(answering(response))(request(0))).values[0]).toBe(response);
  expect(collect(layer(answering(response))(request(1))).values[0]?.outputs.get('P')).toBe(response.outputs.get('P'));
});

it('counts the first mention of an output, and makes nothing of one that the model left out', () => {
  const layer = layerFor(vector('FP32', [1, 2]), { classes: 1 });
  const twice = [1, 2].map((classification) => ({ name: 'O', classification }));
  const answered = collect(layer(answering(inferResponse({ O: vector('FP32', [1, 2]) })))(inferRequest({}, { outputs: twice })));
  expect(answered.values[0]?.outputs.get('O')?.shape).toEqual([1]);
  expect(collect(layer(answering(inferResponse({})))(request(1))).values[0]?.outputs).toEqual(new Map());
});

it('fails for an answer of a datatype that has no order, whatever the config says', () => {
  const layer = layerFor(vector('FP32', [1]), { classes: 1 });
  expect(failureOf(layer(answering(inferResponse({ O: vector('BYTES', ['x']) })))(request(1)))).toMatch(/unsupported type 'BYTES'/);
});

it.each<Datatype>(['BYTES', 'BOOL', 'FP16', 'BF16'])('refuses %s before the model runs', (datatype) => {
  const layer = layerFor(new Tensor(datatype, [0], new Uint8Array(0)), { classes: 1 });
  let runs = 0;
  const infer = layer((given) => {
    runs++;
    return answering(inferResponse({}))(given);
  });
  expect(failureOf(infer(request(1)))).toBe(
    `INVALID_ARGUMENT: class result not available for output due to unsupported type '${datatype}'`,
  );
  expect(runs).toBe(0);
});

it('refuses more than a million elements', () => {
  const fits = new Tensor('INT8', [1_000_000], new Uint8Array(1_000_000));
  expect(classesOf(fits, { classes: 1 }).texts).toEqual(['0:0']);
  const large = new Tensor('INT8', [1_000_001], new Uint8Array(1_000_001));
  const infer = layerFor(large, { classes: 1 })(answering(inferResponse({ O: large })));
  expect(failureOf(infer(request(1)))).toBe('INVALID_ARGUMENT: classification output tensor too large');
});

describe('formatClassValue', () => {
  it.each<[number, string]>([
    [0.1, '0.100000'],
    [-0, '-0.000000'],
    [-1e-9, '-0.000000'],
    [1 / 128, '0.007812'],
    [3 / 128, '0.023438'],
    [-1 / 128, '-0.007812'],
    [2 ** 40 + 1 / 128, '1099511627776.007812'],
    [1e21, '1000000000000000000000.000000'],
    [1.5e300, `${BigInt(1.5e300)}.000000`],
    [Number.NaN, 'nan'],
    [Number.POSITIVE_INFINITY, 'inf'],
    [Number.NEGATIVE_INFINITY, '-inf'],
  ])('prints %d as printf does', (value, text) => {
    expect(formatClassValue(value, 'float')).toBe(text);
  });
});
