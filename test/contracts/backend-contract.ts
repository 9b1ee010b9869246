import type { Subscription } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Backend, Batch, Instance, ModelFiles, Part } from '../../src/streams/inference/backend.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../src/streams/tensors/tensor-values.ts';
import { makePlacement, makeRequest } from '../support/model.ts';

/**
 * A backend with a model that copies INPUT0 to OUTPUT0: FP32 [-1] under a batch dimension, `spec.maxBatchSize` at least 16.
 */
export interface BackendUnderContract {
  readonly backend: Backend;
  readonly files: ModelFiles;
  readonly spec: ModelSpec;
  /** Frees what lies outside the process, and resolves when nothing of the backend runs any more. */
  close(): Promise<void>;
}

interface Answer {
  readonly of: number;
  readonly shape: readonly number[];
  readonly values: readonly number[];
  readonly isLast: boolean;
}

/** Answers read within `next()`, as their readers must. */
interface Outcome {
  readonly answers: readonly Answer[];
  readonly end: 'complete' | 'error';
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Rows of two values each; row r of a request holds `first` + r and its negative. */
const valuesOf = (rows: number, first: number): number[] => upTo(rows).flatMap((row) => [first + row, -first - row]);

const requestOf = (rows: number, first: number): InferRequest =>
  makeRequest({ inputs: new Map([['INPUT0', tensorFrom('FP32', [rows, 2], valuesOf(rows, first))]]) });

const batchOf = (rows: readonly number[], first = 1): Batch => ({
  requests: rows.map((count, index) => requestOf(count, first + 100 * index)),
  rows,
  totalRows: rows.reduce((sum, count) => sum + count, 0),
  wholeInputs: new Map(),
  times: { inputEndMs: 0, outputStartMs: 0 },
});

const answersTo = (rows: readonly number[], first = 1): readonly Answer[] =>
  rows.map((count, of) => ({ of, shape: [count, 2], values: valuesOf(count, first + 100 * of), isLast: true }));

const answerOf = ({ of, outputs, isLast }: Part): Answer => {
  const tensor = outputs.get('OUTPUT0');
  if (tensor === undefined) return { of, shape: [], values: [], isLast };
  return { of, shape: tensor.shape, values: Array.from(tensorValues(tensor), Number), isLast };
};

const outcomeOf = (instance: Instance, batch: Batch): Promise<Outcome> =>
  new Promise((resolve) => {
    const answers: Answer[] = [];
    instance.run(batch).subscribe({
      next: (part) => answers.push(answerOf(part)),
      error: () => resolve({ answers, end: 'error' }),
      complete: () => resolve({ answers, end: 'complete' }),
    });
  });

/** What every backend keeps, whatever it runs. */
export const backendContract = (name: string, create: () => Promise<BackendUnderContract>): void => {
  describe(`the contract of backends: ${name}`, () => {
    let subject: BackendUnderContract;
    let instance: Instance;
    let life: Subscription;
    const emitted: Instance[] = [];
    const ends: string[] = [];

    beforeAll(async () => {
      subject = await create();
      const { backend, files, spec } = subject;
      instance = await new Promise<Instance>((resolve, reject) => {
        life = backend.open(files, spec, makePlacement()).subscribe({
          next: (opened) => {
            emitted.push(opened);
            resolve(opened);
          },
          error: (error: unknown) => {
            ends.push(`error ${error}`);
            reject(error);
          },
          complete: () => ends.push('complete'),
        });
      });
    });

    afterAll(async () => {
      life.unsubscribe();
      await subject.close();
    });

    it('describes the model as its config does, or leaves it to the config', async () => {
      const signature = await subject.backend.describe(subject.files);
      if (signature === undefined) return;
      expect(signature).toEqual({
        inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, -1] }],
        outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, -1] }],
      });
    });

    it('has room for at least one batch', () => {
      expect(instance.capacity).toBeGreaterThanOrEqual(1);
    });

    it('answers each request once, with its own rows and the last part marked, and completes', async () => {
      const rows = [1, 3, 2];
      expect(await outcomeOf(instance, batchOf(rows))).toEqual({ answers: answersTo(rows), end: 'complete' });
    });

    it('answers batches of any size in turn', async () => {
      for (const rows of [[10], [2], [10], [1, 1], [5, 1, 4]]) {
        expect(await outcomeOf(instance, batchOf(rows, rows.length))).toEqual({ answers: answersTo(rows, rows.length), end: 'complete' });
      }
    });

    it('takes as many batches at once as it says', async () => {
      const batches = upTo(instance.capacity);
      const outcomes = await Promise.all(batches.map((n) => outcomeOf(instance, batchOf([1, 2], 1000 * n))));
      expect(outcomes).toEqual(batches.map((n) => ({ answers: answersTo([1, 2], 1000 * n), end: 'complete' })));
    });

    it('does nothing before somebody subscribes, and runs again for each who does', async () => {
      const batch = batchOf([2]);
      const run = instance.run(batch);
      expect(await outcomeOf(instance, batchOf([1], 7))).toEqual({ answers: answersTo([1], 7), end: 'complete' });
      expect(batch.times).toEqual({ inputEndMs: 0, outputStartMs: 0 });
      const again = { ...instance, capacity: instance.capacity, run: () => run };
      expect(await outcomeOf(again, batch)).toEqual({ answers: answersTo([2]), end: 'complete' });
      expect(await outcomeOf(again, batch)).toEqual({ answers: answersTo([2]), end: 'complete' });
    });

    it('says when the model began and when it had run', async () => {
      const beganMs = performance.now();
      const batch = batchOf([1]);
      await outcomeOf(instance, batch);
      expect(batch.times.inputEndMs).toBeGreaterThanOrEqual(beganMs);
      expect(batch.times.outputStartMs).toBeGreaterThanOrEqual(batch.times.inputEndMs);
      expect(batch.times.outputStartMs).toBeLessThanOrEqual(performance.now());
    });

    it('is silent for those who have unsubscribed, and serves the next', async () => {
      const late: Part[] = [];
      for (const n of upTo(20)) {
        const run = instance.run(batchOf([2], n)).subscribe((part) => late.push(part));
        const before = late.length;
        run.unsubscribe();
        expect(await outcomeOf(instance, batchOf([1], n))).toEqual({ answers: answersTo([1], n), end: 'complete' });
        expect(late.length).toBe(before);
      }
    });

    it('leaves the inputs as they were', async () => {
      const batch = batchOf([2, 1]);
      await outcomeOf(instance, batch);
      expect(batch.requests.map(({ inputs }) => inputs.get('INPUT0')?.bytes)).toEqual(
        batchOf([2, 1]).requests.map(({ inputs }) => inputs.get('INPUT0')?.bytes),
      );
    });

    it('lives, without a second instance, until its life is unsubscribed, and another life can follow', async () => {
      expect([emitted.length, ends]).toEqual([1, []]);
      const { backend, files, spec } = subject;
      for (const n of upTo(2)) {
        let opened: Subscription | undefined;
        const next = await new Promise<Instance>((resolve, reject) => {
          opened = backend.open(files, spec, makePlacement({ name: `m_${n}` })).subscribe({ next: resolve, error: reject });
        });
        expect(await outcomeOf(next, batchOf([3]))).toEqual({ answers: answersTo([3]), end: 'complete' });
        opened?.unsubscribe();
      }
      expect(await outcomeOf(instance, batchOf([1]))).toEqual({ answers: answersTo([1]), end: 'complete' });
    });
  });
};
