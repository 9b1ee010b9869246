import type { Subscription } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Backend, Batch, Instance, ModelFiles, ModelSignature, Part } from '../../src/streams/inference/backend.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../src/streams/tensors/tensor-values.ts';
import { makePlacement, makeRequest } from '../support/model.ts';

/** A tensor, or an answer without any. */
export interface Said {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** How a model is asked, and what it answers. */
export interface Dialogue {
  /** Rows that a request may have, and requests that may share a batch. */
  readonly mostRows: number;
  readonly mostRequests: number;
  /** Another one for each `first`. */
  request(rows: number, first: number): InferRequest;
  /** Of the output `output`, in order. */
  answers(rows: number, first: number): readonly Said[];
  readonly output: string;
  /** Where the model's own file says it. */
  readonly signature?: ModelSignature;
}

export interface BackendUnderContract {
  readonly backend: Backend;
  readonly files: ModelFiles;
  readonly spec: ModelSpec;
  readonly dialogue: Dialogue;
  /** Frees what lies outside the process, and resolves when nothing of the backend runs any more. */
  close(): Promise<void>;
}

interface Answer extends Said {
  readonly of: number;
  readonly isLast: boolean;
}

/** Answers read within `next()`, as their readers must. */
interface Outcome {
  readonly answers: readonly Answer[];
  readonly end: 'complete' | 'error';
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Rows of two values each; row r of a request holds `first` + r and its negative. */
const valuesOf = (rows: number, first: number): number[] => upTo(rows).flatMap((row) => [first + row, -first - row]);

/** A model that copies INPUT0 to OUTPUT0: FP32 [-1] under a batch dimension, `max_batch_size` at least 16. */
export const copying: Dialogue = {
  mostRows: 16,
  mostRequests: 16,
  output: 'OUTPUT0',
  request: (rows, first) => makeRequest({ inputs: new Map([['INPUT0', tensorFrom('FP32', [rows, 2], valuesOf(rows, first))]]) }),
  answers: (rows, first) => [{ shape: [rows, 2], values: valuesOf(rows, first) }],
  signature: {
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, -1] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, -1] }],
  },
};

const outcomeOf = (instance: Instance, batch: Batch, output: string): Promise<Outcome> =>
  new Promise((resolve) => {
    const answers: Answer[] = [];
    instance.run(batch).subscribe({
      next: ({ of, outputs, isLast }: Part) => {
        const tensor = outputs.get(output);
        const said =
          tensor === undefined ? { shape: [], values: [] } : { shape: tensor.shape, values: Array.from(tensorValues(tensor), Number) };
        answers.push({ of, ...said, isLast });
      },
      error: () => resolve({ answers, end: 'error' }),
      // Those of one request stand in order, and come in between those of others.
      complete: () => resolve({ answers: answers.toSorted((a, b) => a.of - b.of), end: 'complete' }),
    });
  });

/** What every backend keeps, whatever it runs. `isDecoupled`: the model answers a request any number of times, and can wait between its answers. */
export const backendContract = (name: string, create: () => Promise<BackendUnderContract>, { isDecoupled = false } = {}): void => {
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

    /** As much of it as the model takes. */
    const fitting = (rows: readonly number[]): readonly number[] => {
      const { mostRows, mostRequests } = subject.dialogue;
      return rows.slice(0, mostRequests).map((count) => Math.min(count, mostRows));
    };

    const batchOf = (wanted: readonly number[], first = 1, fields: Partial<InferRequest> = {}): Batch => {
      const rows = fitting(wanted);
      return {
        requests: rows.map((count, index) => ({ ...subject.dialogue.request(count, first + 100 * index), ...fields })),
        rows,
        totalRows: rows.reduce((sum, count) => sum + count, 0),
        wholeInputs: new Map(),
        times: { inputEndMs: 0, outputStartMs: 0 },
      };
    };

    const whole = (wanted: readonly number[], first = 1): Outcome => ({
      answers: fitting(wanted).flatMap((rows, of): readonly Answer[] => {
        const said = subject.dialogue.answers(rows, first + 100 * of);
        if (isDecoupled) return [...said.map((each) => ({ of, ...each, isLast: false })), { of, shape: [], values: [], isLast: true }];
        return said.map((each) => ({ of, ...each, isLast: true }));
      }),
      end: 'complete',
    });

    const ask = (wanted: readonly number[], first = 1, of = instance): Promise<Outcome> =>
      outcomeOf(of, batchOf(wanted, first), subject.dialogue.output);

    it('describes the model as its config does, or leaves it to the config', async () => {
      const signature = await subject.backend.describe(subject.files);
      if (signature !== undefined) expect(signature).toEqual(subject.dialogue.signature);
      expect(subject.backend.answersMany || !isDecoupled).toBe(true);
    });

    it('has room for at least one batch', () => {
      expect(instance.capacity).toBeGreaterThanOrEqual(1);
    });

    it('answers each request with its own rows and the last part marked, and completes', async () => {
      expect(await ask([1, 3, 2])).toEqual(whole([1, 3, 2]));
    });

    it('answers batches of any size in turn', async () => {
      for (const rows of [[10], [2], [10], [1, 1], [5, 1, 4]]) expect(await ask(rows, rows.length)).toEqual(whole(rows, rows.length));
    });

    it('takes as many batches at once as it says', async () => {
      const batches = upTo(instance.capacity);
      const outcomes = await Promise.all(batches.map((n) => ask([1, 2], 1000 * n)));
      expect(outcomes).toEqual(batches.map((n) => whole([1, 2], 1000 * n)));
    });

    it('does nothing before somebody subscribes, and runs again for each who does', async () => {
      const batch = batchOf([2]);
      const run = instance.run(batch);
      expect(await ask([1], 7)).toEqual(whole([1], 7));
      expect(batch.times).toEqual({ inputEndMs: 0, outputStartMs: 0 });
      const again = { ...instance, capacity: instance.capacity, run: () => run };
      for (const _ of upTo(2)) expect(await outcomeOf(again, batch, subject.dialogue.output)).toEqual(whole([2]));
    });

    it('says when the model began, and when it had run where it answers once', async () => {
      const beganMs = performance.now();
      const batch = batchOf([1]);
      await outcomeOf(instance, batch, subject.dialogue.output);
      const { inputEndMs, outputStartMs } = batch.times;
      expect(inputEndMs).toBeGreaterThanOrEqual(beganMs);
      if (!isDecoupled) expect(outputStartMs).toBeGreaterThanOrEqual(inputEndMs);
      expect(Math.max(inputEndMs, outputStartMs)).toBeLessThanOrEqual(performance.now());
    });

    it('is silent for those who have unsubscribed, and serves the next', async () => {
      const late: Part[] = [];
      for (const n of upTo(20)) {
        const run = instance.run(batchOf([2], n)).subscribe((part) => late.push(part));
        const before = late.length;
        run.unsubscribe();
        expect(await ask([1], n)).toEqual(whole([1], n));
        expect(late.length).toBe(before);
      }
    });

    it('leaves the inputs as they were', async () => {
      const batch = batchOf([2, 1]);
      await outcomeOf(instance, batch, subject.dialogue.output);
      const bytes = ({ requests }: Batch) => requests.map(({ inputs }) => [...inputs].map(([input, tensor]) => [input, [...tensor.bytes]]));
      expect(bytes(batch)).toEqual(bytes(batchOf([2, 1])));
    });

    if (isDecoupled) {
      it('makes no answer while there is no room for it', async () => {
        const demand = { isOpen: false, onOpen: undefined as (() => void) | undefined };
        const parts: Part[] = [];
        const { answers } = whole([1], 3);
        await new Promise<void>((resolve) => {
          instance.run(batchOf([1], 3, { demand })).subscribe({ next: (part) => parts.push(part), complete: resolve });
          expect(parts).toEqual([]);
          demand.isOpen = true;
          demand.onOpen?.();
        });
        expect(parts.map(({ isLast }) => isLast)).toEqual(answers.map(({ isLast }) => isLast));
        expect(demand.onOpen).toBe(undefined);
      });

      it('ends the answers to one request when its caller goes, and those to no other', async () => {
        const demand = { isOpen: false, onOpen: undefined as (() => void) | undefined };
        const wanted = fitting([1, 1, 1]);
        const held = batchOf(wanted);
        const [first, ...others] = held.requests;
        if (first === undefined) throw new Error('a batch has a request');
        const batch: Batch = { ...held, requests: [{ ...first, demand }, ...others] };
        const outcome = outcomeOf(instance, batch, subject.dialogue.output);
        batch.onCancelled?.(0);
        expect(await outcome).toEqual({ answers: whole(wanted).answers.filter(({ of }) => of > 0), end: 'complete' });
      });
    }

    it('lives, without a second instance, until its life is unsubscribed, and another life can follow', async () => {
      expect([emitted.length, ends]).toEqual([1, []]);
      const { backend, files, spec } = subject;
      for (const n of upTo(2)) {
        let opened: Subscription | undefined;
        const next = await new Promise<Instance>((resolve, reject) => {
          opened = backend.open(files, spec, makePlacement({ name: `m_${n}` })).subscribe({ next: resolve, error: reject });
        });
        expect(await ask([3], 1, next)).toEqual(whole([3]));
        opened?.unsubscribe();
      }
      expect(await ask([1])).toEqual(whole([1]));
    });
  });
};
