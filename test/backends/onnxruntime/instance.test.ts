import { describe, expect, it } from 'vitest';
import type { Part } from '../../../src/streams/inference/backend.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { addSub, fixedBatch, gather, identity, mlp, slow, variableRows } from '../../support/onnx-models.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { makeBatch, outputsOf, partsOf, workbench } from './workbench.ts';

const fp32 = (shape: readonly number[], values: readonly number[]): Tensor => tensorFrom('FP32', shape, values);

const counting = (count: number, from: number): number[] => Array.from({ length: count }, (_, index) => from + index);

const numbers = (tensor: Tensor | undefined): readonly number[] =>
  tensor === undefined ? [] : Array.from<number | bigint | Uint8Array, number>(tensorValues(tensor), Number);

const echoSpec = (dims: readonly number[], maxBatchSize = 64) =>
  modelSpec({ maxBatchSize, inputs: [inputSpec('INPUT0', 'FP32', dims)], outputs: [outputSpec('OUTPUT0', 'FP32', dims)] });

const slowSpec = modelSpec({
  inputs: [inputSpec('INPUT0', 'FP32', [-1, 1]), inputSpec('ROUNDS', 'INT64', [1])],
  outputs: [outputSpec('OUTPUT0', 'FP32', [-1, 1])],
});

const rounds = (count: number, value = 1): InferRequest =>
  inferRequest({ INPUT0: fp32([1, 1], [value]), ROUNDS: tensorFrom('INT64', [1], [BigInt(count)]) });

describe('an instance of the onnxruntime backend', () => {
  const { openModel } = workbench();

  it('gives each request its own rows, whatever the batches before were', async () => {
    const dims = [16];
    const { instance } = await openModel(
      addSub(),
      modelSpec({
        maxBatchSize: 64,
        inputs: [inputSpec('INPUT0', 'INT32', dims), inputSpec('INPUT1', 'INT32', dims)],
        outputs: [outputSpec('OUTPUT0', 'INT32', dims), outputSpec('OUTPUT1', 'INT32', dims)],
      }),
    );
    const requestOf = (rows: number, from: number) =>
      inferRequest({
        INPUT0: tensorFrom('INT32', [rows, 16], counting(rows * 16, from)),
        INPUT1: tensorFrom('INT32', [rows, 16], counting(rows * 16, 1)),
      });
    let from = 0;
    for (const sizes of [[10], [2], [10], [1, 4, 2], [7], [1, 4, 2]]) {
      const starts = sizes.map(() => (from += 1000));
      const requests = sizes.map((rows, index) => requestOf(rows, starts[index] ?? 0));
      const parts = await partsOf(instance.run(makeBatch(requests)));
      expect(parts.map(({ outputs }) => numbers(outputs.get('OUTPUT0')))).toEqual(
        sizes.map((rows, index) => counting(rows * 16, 0).map((n) => (starts[index] ?? 0) + n + n + 1)),
      );
      expect(parts.map(({ outputs }) => numbers(outputs.get('OUTPUT1')))).toEqual(
        sizes.map((rows, index) => counting(rows * 16, 0).map(() => (starts[index] ?? 0) - 1)),
      );
    }
  });

  it('answers as many batches at once as it has room for, and says when they ran', async () => {
    const { instance } = await openModel(
      mlp(),
      modelSpec({
        maxBatchSize: 8,
        inputs: [inputSpec('INPUT0', 'FP32', [4])],
        outputs: [outputSpec('OUTPUT0', 'FP32', [3])],
      }),
    );
    expect(instance.capacity).toBe(2);
    const beganMs = performance.now();
    const alone = await outputsOf(instance, [inferRequest({ INPUT0: fp32([1, 4], [1, 2, 3, 4]) })]);
    const batches = [1, 2].map((rows) => makeBatch([inferRequest({ INPUT0: fp32([rows, 4], counting(4 * rows, 1)) })]));
    const both = await Promise.all(batches.map((batch) => partsOf(instance.run(batch))));
    expect(both.map((parts) => numbers(parts[0]?.outputs.get('OUTPUT0')).slice(0, 3))).toEqual([numbers(alone[0]), numbers(alone[0])]);
    for (const { times } of batches) {
      expect(times.inputEndMs).toBeGreaterThan(beganMs);
      expect(times.outputStartMs).toBeGreaterThanOrEqual(times.inputEndMs);
    }
  });

  it('carries large tensors, and lets small batches follow', async () => {
    const count = 2 ** 21;
    const { instance } = await openModel(identity(), echoSpec([-1]));
    const large = new Float32Array(count).map((_, index) => index);
    const answers = await outputsOf(instance, [
      inferRequest({ INPUT0: tensorFrom('FP32', [1, count], large) }),
      inferRequest({
        INPUT0: tensorFrom(
          'FP32',
          [1, count],
          large.map((n) => -n),
        ),
      }),
    ]);
    expect(answers.map((answer) => answer?.byteLength)).toEqual([4 * count, 4 * count]);
    expect([numbers(answers[0]).at(-1), numbers(answers[1]).at(-1)]).toEqual([count - 1, 1 - count]);
    // Enough of them that memory of the large one is given up on the way, on both sides.
    for (const first of counting(2100, 0)) {
      const [answer] = await outputsOf(instance, [inferRequest({ INPUT0: fp32([1, 2], [first, 6]) })]);
      if (answer === undefined || numbers(answer).join() !== `${first},6`) expect(numbers(answer)).toEqual([first, 6]);
    }
  });

  it('runs many shapes in turn', async () => {
    const { instance } = await openModel(identity(), echoSpec([-1]));
    for (const length of [...counting(70, 1), 3, 70, 1]) {
      expect((await outputsOf(instance, [inferRequest({ INPUT0: fp32([1, length], counting(length, length)) })])).map(numbers)).toEqual([
        counting(length, length),
      ]);
    }
  });

  it('runs a model without batch dimension one request at a time', async () => {
    const { instance } = await openModel(fixedBatch(), echoSpec([1, 3, 4, 4], 0));
    const request = inferRequest({ INPUT0: fp32([1, 3, 4, 4], counting(48, 0)) });
    expect((await outputsOf(instance, [request])).map(numbers)).toEqual([counting(48, 0)]);
    await expect(outputsOf(instance, [request, request])).rejects.toThrow('a model without batch dimension got 2 requests at once');
  });

  it('fails a batch whose output has not a row for each of its rows, and lives on', async () => {
    const { instance } = await openModel(variableRows(), echoSpec([4]));
    const row = (first: number) => inferRequest({ INPUT0: fp32([1, 4], [first, 2, 3, 4]) });
    const failure = await partsOf(instance.run(makeBatch([row(1), row(-1), row(1)]))).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InferError);
    expect(failure).toMatchObject({
      code: 'UNIMPLEMENTED',
      reason: 'BACKEND',
      message: `failed to split the output tensor 'OUTPUT0' in responses: expected batch size of at least 3 in model output, got 2`,
    });
    expect((await outputsOf(instance, [row(5), row(6)])).map(numbers)).toEqual([
      [5, 2, 3, 4],
      [6, 2, 3, 4],
    ]);
  });

  it('fails a batch on which the model fails, and lives on', async () => {
    const { instance } = await openModel(
      gather(),
      modelSpec({ maxBatchSize: 8, inputs: [inputSpec('INPUT0', 'INT64', [1])], outputs: [outputSpec('OUTPUT0', 'FP32', [1, 2])] }),
    );
    const requestOf = (index: bigint) => inferRequest({ INPUT0: tensorFrom('INT64', [1, 1], [index]) });
    const failure = await partsOf(instance.run(makeBatch([requestOf(1n), requestOf(12n)]))).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'INTERNAL', reason: 'BACKEND', message: expect.stringContaining('idx=12 must be within') });
    expect((await outputsOf(instance, [requestOf(1n), requestOf(9n)])).map(numbers)).toEqual([
      [2, 3],
      [18, 19],
    ]);
  });

  it('drops the answer of a cancelled batch, and keeps its slots', async () => {
    const { instance } = await openModel(slow(), slowSpec);
    const late: Part[] = [];
    const cancelled = [1, 2].map(() => instance.run(makeBatch([rounds(200)], [1])).subscribe((part) => late.push(part)));
    for (const run of cancelled) run.unsubscribe();
    const waiting = instance.run(makeBatch([rounds(1)], [1])).subscribe((part) => late.push(part));
    const next = partsOf(instance.run(makeBatch([rounds(1, 7)], [1])));
    waiting.unsubscribe();
    expect((await next).map(({ outputs }) => numbers(outputs.get('OUTPUT0')))).toEqual([[7]]);
    expect(late).toEqual([]);
  });

  it('has room for no more batches than slots behind those that run', async () => {
    const { instance } = await openModel(slow(), slowSpec);
    const runs = await Promise.allSettled(counting(5, 0).map((value) => partsOf(instance.run(makeBatch([rounds(20, value)], [1])))));
    expect(runs.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect(runs[4]).toMatchObject({ reason: { code: 'UNAVAILABLE', message: `model instance 'm_0' has no room for another batch` } });
  });

  it('may be given the next batch from within the end of the last', async () => {
    const { instance } = await openModel(identity(), echoSpec([-1]));
    const done = Promise.withResolvers<void>();
    const seen: number[] = [];
    const again = (left: number): void => {
      instance.run(makeBatch([inferRequest({ INPUT0: fp32([1, 1], [left]) })])).subscribe({
        next: ({ outputs }) => seen.push(...numbers(outputs.get('OUTPUT0'))),
        error: done.reject,
        complete: () => (left === 1 ? done.resolve() : again(left - 1)),
      });
    };
    again(500);
    await done.promise;
    expect(seen).toEqual(counting(500, 1).reverse());
  });

  it('leaves the requests as they are', async () => {
    const { instance } = await openModel(identity(), echoSpec([-1]));
    const message = Buffer.from([9, 9, 9, ...new Uint8Array(new Float32Array([1, 2]).buffer), 9]);
    const before = Buffer.from(message);
    const request = inferRequest({ INPUT0: new Tensor('FP32', [1, 2], message, 3, 11) });
    expect((await outputsOf(instance, [request])).map(numbers)).toEqual([[1, 2]]);
    expect(message).toEqual(before);
  });
});
