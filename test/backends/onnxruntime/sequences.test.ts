import { describe, expect, it } from 'vitest';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { accumulator } from '../../support/batch-models.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { makeBatch, partsOf, workbench } from './workbench.ts';

const fp32 = (value: number): Tensor => tensorFrom('FP32', [1, 1], [value]);

const spec: ModelSpec = modelSpec({
  maxBatchSize: 8,
  inputs: [inputSpec('X', 'FP32', [1])],
  outputs: [outputSpec('TOTAL', 'FP32', [1]), outputSpec('WHO', 'UINT64', [1])],
  sequenceBatching: {
    strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 },
    maxIdleMs: 1000,
    controls: [
      { kind: 'START', name: 'START', datatype: 'INT32', whenFalse: 0, whenTrue: 1 },
      { kind: 'READY', name: 'READY', datatype: 'BOOL', whenFalse: 0, whenTrue: 1 },
      { kind: 'CORRID', name: 'ID', datatype: 'UINT64' },
    ],
    states: [{ inputName: 'SUM_IN', outputName: 'SUM_OUT', datatype: 'FP32', dims: [1], initial: fp32(0) }],
    isIterative: false,
    endsIdleWithStep: false,
  },
});

interface Row {
  readonly x: number;
  readonly sum: Tensor;
  readonly id: bigint;
  readonly start?: boolean;
  readonly ready?: boolean;
}

/** A request as it arrives at an instance: with what the scheduler adds to it. */
const step = ({ x, sum, id, start = false, ready = true }: Row): InferRequest =>
  inferRequest({
    X: fp32(x),
    START: tensorFrom('INT32', [1, 1], [start ? 1 : 0]),
    READY: tensorFrom('BOOL', [1, 1], [ready]),
    ID: tensorFrom('UINT64', [1, 1], [id]),
    SUM_IN: sum,
  });

const only = (tensor: Tensor | undefined): unknown => (tensor === undefined ? undefined : tensorValues(tensor)[0]);

describe('steps of sequences on the onnxruntime backend', () => {
  const { openModel } = workbench();

  it('run beside each other with controls and states, which come back though they are no outputs of the config', async () => {
    const { instance } = await openModel(accumulator(), spec);
    const ids = [7n, 2n ** 64n - 1n];
    let sums: readonly Tensor[] = [fp32(99), fp32(99)];
    for (const [round, xs] of [
      [1, 10],
      [2, 20],
      [3, 30],
    ].entries()) {
      const requests = ids.map((id, row) => step({ x: xs[row] ?? 0, sum: sums[row] ?? fp32(0), id, start: round === 0 }));
      const parts = await partsOf(instance.run(makeBatch(requests)));
      sums = parts.map(({ outputs }) => outputs.get('SUM_OUT') ?? fp32(Number.NaN));
      expect(parts.map(({ outputs }) => only(outputs.get('WHO')))).toEqual(ids);
      expect(parts.map(({ outputs }) => only(outputs.get('TOTAL')))).toEqual(
        [
          [1, 10],
          [3, 30],
          [6, 60],
        ][round],
      );
    }
    expect(sums.map(({ shape }) => shape)).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it('leave the state alone in a row that is not ready', async () => {
    const { instance } = await openModel(accumulator(), spec);
    const parts = await partsOf(
      instance.run(makeBatch([step({ x: 5, sum: fp32(3), id: 1n }), step({ x: 5, sum: fp32(3), id: 0n, ready: false })])),
    );
    expect(parts.map(({ outputs }) => only(outputs.get('SUM_OUT')))).toEqual([8, 3]);
  });
});
