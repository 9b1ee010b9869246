import type { Observable } from 'rxjs';
import { concat, NEVER, of, Subject, throwError } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { noWarmUpCounters, warmUp } from '../../src/operators/warm-up.ts';
import type { Batch, Instance, Part } from '../../src/streams/inference/backend.ts';
import { InferError } from '../../src/streams/inference/error.ts';
import type { ModelSpec, WarmupSample } from '../../src/streams/inference/model-spec.ts';
import { echo, HandInstance, living, makePart, makeRequest, makeSpec, messageOf } from '../support/model.ts';

const sample = (name: string, requests: number, count = 1): WarmupSample => ({
  name,
  count,
  requests: Array.from({ length: requests }, (_, n) => makeRequest({ id: `${name}${n}` })),
});

const idsOf = ({ requests }: Batch): string => requests.map(({ id }) => id).join();

describe('warmUp', () => {
  let counters: ReturnType<typeof noWarmUpCounters>;
  let heard: string[];
  let emitted: Instance[];

  beforeEach(() => {
    counters = noWarmUpCounters();
    heard = [];
    emitted = [];
  });

  const start = (life$: Observable<Instance>, warmups: readonly WarmupSample[], fields: Partial<ModelSpec> = {}) =>
    life$.pipe(warmUp({ spec: makeSpec({ warmups, ...fields }), counters })).subscribe({
      next: (instance) => emitted.push(instance),
      error: (error) => heard.push(messageOf(error)),
      complete: () => heard.push('complete'),
    });

  it('runs the samples in order, each as often as it says, its requests as one batch, and only then lets the instance go', () => {
    const instance = new HandInstance();
    start(living(instance), [sample('', 2, 2), sample('b', 1)]);
    const batches: string[] = [];
    for (let n = 0; n < 3; n++) {
      expect(emitted).toEqual([]);
      const { batch } = instance.last;
      batches.push(`${idsOf(batch)} ${batch.rows} ${batch.totalRows}`);
      instance.last.finish();
    }
    expect(batches).toEqual(['0,1 1,1 2', '0,1 1,1 2', 'b0 1 1']);
    expect(emitted).toEqual([instance]);
    expect(instance.runs).toHaveLength(3);
    expect(counters).toEqual({ in: 5, out: 5, failed: 0, running: 0 });
  });

  it('leaves a model without samples alone', () => {
    const life$ = living(new HandInstance());
    expect(life$.pipe(warmUp({ spec: makeSpec(), counters }))).toBe(life$);
  });

  it('fails with all that failed of a sample, and runs no other', () => {
    const instance = new HandInstance();
    start(living(instance), [sample('S', 3), sample('later', 1)]);
    instance.last.answer(makePart(0, { error: new InferError('INTERNAL', 'no weights') }));
    instance.last.answer(makePart(1));
    instance.last.answer(makePart(2, { error: new InferError('INTERNAL', 'no memory') }));
    instance.last.complete();
    expect(heard).toEqual(["INVALID_ARGUMENT failed to run warmup sample 'S': no weights; no memory; "]);
    expect(emitted).toEqual([]);
    expect(instance.runs).toHaveLength(1);
    expect(counters).toEqual({ in: 3, out: 1, failed: 2, running: 0 });
  });

  it('fails each request that has had no last answer when the run fails', () => {
    const instance = new HandInstance();
    start(living(instance), [sample('S', 3)]);
    instance.last.answer(makePart(1));
    instance.last.fail(new Error('boom'));
    expect(heard).toEqual(["INVALID_ARGUMENT failed to run warmup sample 'S': boom; boom; "]);
  });

  it('fails when an instance throws', () => {
    const instance: Instance = {
      capacity: 1,
      run: () => {
        throw new Error('thrown');
      },
    };
    start(living(instance), [sample('S', 1)]);
    expect(heard).toEqual(["INVALID_ARGUMENT failed to run warmup sample 'S': thrown; "]);
  });

  it('wants one answer to each request, unless the model is decoupled', () => {
    const answers = (batch: Batch): readonly Part[] => [...echo(batch), ...echo(batch)];
    const instance: Instance = { capacity: 1, run: (batch) => of(...answers(batch)) };
    start(living(instance), [sample('S', 1)]);
    expect(heard).toEqual([
      "INVALID_ARGUMENT failed to run warmup sample 'S': expected a single response, got 2 from model 'm' version 1; ",
    ]);
    start(living(instance), [sample('S', 1)], { decoupled: true });
    expect(emitted).toEqual([instance]);
    const apart: Instance = { capacity: 1, run: (batch) => of(...echo(batch), makePart(0)) };
    start(living(apart), [sample('S', 1)]);
    expect(emitted).toEqual([instance, apart]);
  });

  it('gives samples what batches of the model have', () => {
    const instance = new HandInstance();
    start(living(instance), [sample('S', 2)], {
      batchInputs: [{ kind: 'BATCH_ELEMENT_COUNT', names: ['COUNT'], datatype: 'INT32', source: 'IN' }],
    });
    expect(instance.last.batch.wholeInputs.get('COUNT')?.shape).toEqual([2]);
  });

  it('cancels the sample that runs and ends the life when it is unsubscribed', () => {
    const life = new Subject<Instance>();
    const instance = new HandInstance();
    const subscription = start(life, [sample('S', 1), sample('later', 1)]);
    life.next(instance);
    subscription.unsubscribe();
    expect(instance.last.isCancelled).toBe(true);
    expect(life.observed).toBe(false);
    expect(instance.runs).toHaveLength(1);
    expect(counters).toEqual({ in: 1, out: 0, failed: 1, running: 0 });
  });

  it('ends with a life that ends meanwhile', () => {
    const instance = new HandInstance();
    start(
      concat(
        of(instance),
        throwError(() => new Error('died')),
      ),
      [sample('S', 1)],
    );
    expect(heard).toEqual(['undefined died']);
    expect(instance.last.isCancelled).toBe(true);
    start(of(instance), [sample('S', 1)]);
    expect(heard).toEqual(['undefined died', 'complete']);
    expect(emitted).toEqual([]);
  });

  it('survives 20,000 rounds in one call', () => {
    let runs = 0;
    const instance: Instance = {
      capacity: 1,
      run: (batch) => {
        runs++;
        return of(...echo(batch));
      },
    };
    start(concat(of(instance), NEVER), [sample('S', 1, 20_000)]);
    expect([runs, emitted.length]).toEqual([20_000, 1]);
  });
});
