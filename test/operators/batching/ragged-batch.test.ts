import { describe, expect, it } from 'vitest';
import { raggedBatch } from '../../../src/operators/batching/ragged-batch.ts';
import type { BatchInput } from '../../../src/streams/inference/model-spec.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makeRequest } from '../../support/model.ts';

const batchInput = (fields: Partial<BatchInput>): BatchInput => ({
  kind: 'BATCH_ELEMENT_COUNT',
  names: ['W'],
  datatype: 'INT32',
  source: 'IN',
  ...fields,
});

/** The tensor W of requests whose input IN has these shapes. */
const told = (fields: Partial<BatchInput>, shapes: readonly Shape[], maxBatchSize = 8) => {
  const whole = raggedBatch({ batchInputs: [batchInput(fields)], maxBatchSize });
  const rows = shapes.map(([first = 1]) => (maxBatchSize > 0 ? first : 1));
  const tensor = whole?.(
    shapes.map((shape) => makeRequest({}, shape)),
    rows,
  ).get('W');
  return tensor && { datatype: tensor.datatype, shape: tensor.shape, values: [...tensorValues(tensor)] };
};

describe('raggedBatch', () => {
  it.each([
    ['BATCH_ELEMENT_COUNT', [3], [6, 5, 0]],
    ['BATCH_ACCUMULATED_ELEMENT_COUNT', [3], [6, 11, 11]],
    ['BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', [4], [0, 6, 11, 11]],
    ['BATCH_MAX_ELEMENT_COUNT_AS_SHAPE', [6], [0, 0, 0, 0, 0, 0]],
    ['BATCH_ITEM_SHAPE', [4, 1], [3, 3, 5, 0]],
    ['BATCH_ITEM_SHAPE_FLATTEN', [4], [3, 3, 5, 0]],
  ] as const)('tells %s of requests of 2, 1 and 1 rows', (kind, shape, values) => {
    for (const datatype of ['INT32', 'FP32'] as const) {
      expect(
        told({ kind, datatype }, [
          [2, 3],
          [1, 5],
          [1, 0],
        ]),
      ).toEqual({ datatype, shape, values });
    }
  });

  it('repeats the shape of an item for each of its rows', () => {
    expect(
      told({ kind: 'BATCH_ITEM_SHAPE' }, [
        [2, 3, 4],
        [1, 5, 6],
      ]),
    ).toMatchObject({ shape: [3, 2], values: [3, 4, 3, 4, 5, 6] });
    expect(
      told({ kind: 'BATCH_ITEM_SHAPE_FLATTEN' }, [
        [2, 3, 4],
        [1, 5, 6],
      ]),
    ).toMatchObject({ shape: [6], values: [3, 4, 3, 4, 5, 6] });
  });

  it('takes the whole shape for that of the one item where there is no batch dimension', () => {
    expect(told({ kind: 'BATCH_ITEM_SHAPE' }, [[2, 3]], 0)).toMatchObject({ shape: [1, 2], values: [2, 3] });
    expect(told({ kind: 'BATCH_ELEMENT_COUNT' }, [[2, 3]], 0)).toMatchObject({ shape: [1], values: [6] });
  });

  it('counts nothing where a request is without the source', () => {
    expect(
      told({ source: 'OTHER' }, [
        [1, 2],
        [1, 3],
      ]),
    ).toMatchObject({ values: [0, 0] });
  });

  it('gives one tensor several names, and is nothing to a model without', () => {
    const whole = raggedBatch({ batchInputs: [batchInput({ names: ['A', 'B'] }), batchInput({ names: ['C'] })], maxBatchSize: 8 });
    const tensors = whole?.([makeRequest()], [1]);
    expect([...(tensors?.keys() ?? [])]).toEqual(['A', 'B', 'C']);
    expect(tensors?.get('A')).toBe(tensors?.get('B'));
    expect(raggedBatch({ batchInputs: [], maxBatchSize: 8 })).toBeUndefined();
  });
});
