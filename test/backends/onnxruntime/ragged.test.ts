import { describe, expect, it } from 'vitest';
import type { Batch, Part } from '../../../src/streams/inference/backend.ts';
import type { BatchInputKind, ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { raggedStrings, raggedSums } from '../../support/batch-models.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { makeBatch, partsOf, workbench } from './workbench.ts';

const int32 = (...values: number[]): Tensor => tensorFrom('INT32', [values.length], values);

const whole = (kind: BatchInputKind, name: string, source: string) => ({ kind, names: [name], datatype: 'INT32' as const, source });

const sumsSpec = (dims: readonly number[] = [-1]): ModelSpec =>
  modelSpec({
    maxBatchSize: 64,
    inputs: [inputSpec('X', 'FP32', dims, { allowRagged: true })],
    outputs: [outputSpec('SUM', 'FP32', [1]), outputSpec('DOUBLE', 'FP32', dims)],
    batchInputs: [whole('BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', 'ENDS', 'X')],
    batchOutputs: [{ names: ['DOUBLE'], source: 'X' }],
  });

const counting = (count: number, from: number): number[] => Array.from({ length: count }, (_, index) => from + index);

const x = (shape: readonly number[], from = 1): InferRequest =>
  inferRequest({
    X: tensorFrom(
      'FP32',
      shape,
      counting(
        shape.reduce((product, size) => product * size, 1),
        from,
      ),
    ),
  });

const withWhole = (requests: readonly InferRequest[], wholeInputs: Readonly<Record<string, Tensor>>): Batch => ({
  ...makeBatch(requests),
  wholeInputs: new Map(Object.entries(wholeInputs)),
});

const numbers = (part: Part | undefined, name: string): readonly unknown[] => {
  const tensor = part?.outputs.get(name);
  return tensor === undefined ? [] : [...tensorValues(tensor)];
};

describe('ragged batches of the onnxruntime backend', () => {
  const { openModel } = workbench();

  it('lays inputs end to end and splits outputs by their shapes, whatever the batches before were', async () => {
    const { instance } = await openModel(raggedSums(), sumsSpec());
    for (const lengths of [[10], [2], [10], [3, 5, 1], [5, 3, 1], [0, 9], [9]]) {
      const requests = lengths.map((length, index) => x([1, length], 10 * index));
      let end = 0;
      const ENDS = int32(0, ...lengths.map((length) => (end += length)));
      const parts = await partsOf(instance.run(withWhole(requests, { ENDS })));
      const given = lengths.map((length, index) => counting(length, 10 * index));
      expect(parts.map((part) => numbers(part, 'SUM'))).toEqual(given.map((all) => [all.reduce((sum, one) => sum + one, 0)]));
      expect(parts.map((part) => numbers(part, 'DOUBLE'))).toEqual(given.map((all) => all.map((one) => 2 * one)));
      expect(parts.map(({ outputs }) => outputs.get('DOUBLE')?.shape)).toEqual(lengths.map((length) => [1, length]));
    }
  });

  it('tells batches of equal sizes and other rows apart', async () => {
    const { instance } = await openModel(raggedSums(), sumsSpec());
    for (const rows of [3, 2, 3]) {
      const requests = counting(rows, 0).map(() => x([1, 6 / rows]));
      const ENDS = int32(0, ...requests.map((_, index) => ((index + 1) * 6) / rows));
      const parts = await partsOf(instance.run(withWhole(requests, { ENDS })));
      expect(parts.map((part) => numbers(part, 'DOUBLE'))).toEqual(requests.map(() => counting(6 / rows, 1).map((one) => 2 * one)));
    }
  });

  it('gives an output the sizes that its source has at the same places', async () => {
    const { instance } = await openModel(raggedSums(), sumsSpec([-1, 2]));
    const requests = [x([1, 3, 2]), x([2, 1, 2], 50)];
    // One sum for each row: the model is told where rows end.
    const parts = await partsOf(instance.run(withWhole(requests, { ENDS: int32(0, 6, 8, 10) })));
    expect(parts.map(({ outputs }) => outputs.get('DOUBLE')?.shape)).toEqual([
      [1, 3, 2],
      [2, 1, 2],
    ]);
    expect(parts.map((part) => numbers(part, 'SUM'))).toEqual([[21], [101, 105]]);
  });

  it('fails a batch whose output has not the elements of its requests', async () => {
    const { instance } = await openModel(raggedSums(), {
      ...sumsSpec(),
      outputs: [outputSpec('SUM', 'FP32', [-1])],
      batchOutputs: [{ names: ['SUM'], source: 'X' }],
    });
    const run = partsOf(instance.run(withWhole([x([1, 2]), x([1, 3])], { ENDS: int32(0, 2, 5) })));
    await expect(run).rejects.toMatchObject({
      code: 'UNIMPLEMENTED',
      reason: 'BACKEND',
      message: "failed to split the output tensor 'SUM' in responses: expected 5 elements in model output, got 2 in shape [2,1]",
    });
  });

  it('fails a batch that comes without what the model is to be told', async () => {
    const { instance } = await openModel(raggedSums(), sumsSpec());
    await expect(partsOf(instance.run(makeBatch([x([1, 2])])))).rejects.toMatchObject({
      code: 'INTERNAL',
      message: "input 'ENDS' of the whole batch is missing",
    });
    const parts = await partsOf(instance.run(withWhole([x([1, 2])], { ENDS: int32(0, 2) })));
    expect(numbers(parts[0], 'SUM')).toEqual([3]);
  });

  it('lays strings end to end, and keeps the place of a request whose strings cannot be carried', async () => {
    const spec = modelSpec({
      maxBatchSize: 8,
      inputs: [inputSpec('T', 'BYTES', [-1], { allowRagged: true })],
      outputs: [outputSpec('U', 'BYTES', [-1]), outputSpec('N', 'INT32', [], { reshape: [] })],
      batchInputs: [whole('BATCH_ELEMENT_COUNT', 'COUNT', 'T')],
      batchOutputs: [{ names: ['U'], source: 'T' }],
    });
    const { instance } = await openModel(raggedStrings(), spec);
    const texts = [['a', 'bcd'], ['e', 'with\0nul'], ['f']];
    const requests = texts.map((all) => inferRequest({ T: tensorFrom('BYTES', [1, all.length], all) }));
    const parts = await partsOf(instance.run(withWhole(requests, { COUNT: int32(2, 2, 1) })));
    expect(parts.map(({ of }) => of).toSorted()).toEqual([0, 1, 2]);
    expect(parts.find(({ of }) => of === 1)?.error?.message).toContain("input 'T' for model 'm' cannot be carried by onnxruntime-node");
    for (const of of [0, 2]) {
      const part = parts.find((each) => each.of === of);
      const strings = part?.outputs.get('U');
      expect(strings === undefined ? [] : tensorStrings(strings)).toEqual(texts[of]);
      expect(numbers(part, 'N')).toEqual([texts[of]?.length]);
    }
  });
});
