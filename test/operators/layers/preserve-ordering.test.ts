import { Observable, type Subscriber, take } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Call } from '../../../src/operators/call.ts';
import { orderBatches, preserveOrdering, preservesOrdering } from '../../../src/operators/layers/preserve-ordering.ts';
import { noOrderCounters } from '../../../src/streams/flow/in-order.ts';
import type { Instance } from '../../../src/streams/inference/backend.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { Infer } from '../../../src/streams/inference/infer.ts';
import type { SequenceBatching, SequenceStrategy } from '../../../src/streams/inference/model-spec.ts';
import { noParameters } from '../../../src/streams/inference/parameters.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { HandInstance, makeBatching, makeRequest, makeSpec, messageOf } from '../../support/model.ts';

/** As the memory of an instance: slices of a Buffer are views. */
const memory = Buffer.from(new SharedArrayBuffer(8));

const response = (id: string, bytes = 4): InferResponse => ({
  modelName: 'm',
  modelVersion: '1',
  id,
  parameters: noParameters,
  outputs: new Map([['OUT', new Tensor('UINT8', [bytes], memory, 0, bytes)]]),
  isLast: true,
});

const begin = (limits: { limit?: number; maxBytes?: number } = {}) => {
  const counters = noOrderCounters();
  const inner = new Map<string, Subscriber<InferResponse>>();
  const cancelled: string[] = [];
  const model: Infer = ({ id }) =>
    new Observable((subscriber) => {
      inner.set(id, subscriber);
      subscriber.add(() => cancelled.push(id));
    });
  const infer = preserveOrdering({ spec: { name: 'm' }, counters, ...limits })(model);
  const heard: string[] = [];
  const ask = (id: string) =>
    infer(makeRequest({ id })).subscribe({
      next: ({ outputs }) => heard.push(`${id} ${outputs.get('OUT')?.bytes.join('')}`),
      error: (error) => heard.push(`${id} ${messageOf(error)}`),
      complete: () => heard.push(`${id} .`),
    });
  /** As a model that uses its memory again. */
  const answer = (id: string, byte: number, bytes?: number): void => {
    memory.fill(byte);
    inner.get(id)?.next(response(id, bytes));
    memory.fill(0);
  };
  return { counters, infer, inner, cancelled, heard, ask, answer };
};

describe('preserveOrdering', () => {
  it('lets answers leave in the order of the requests, whatever became of their memory', () => {
    const { heard, ask, answer, inner } = begin();
    for (const id of ['a', 'b', 'c']) ask(id);
    answer('c', 3);
    inner.get('c')?.complete();
    answer('b', 2);
    inner.get('b')?.error(new InferError('INTERNAL', 'broken', { reason: 'BACKEND' }));
    expect(heard).toEqual([]);
    answer('a', 1);
    expect(heard).toEqual(['a 1111']);
    inner.get('a')?.complete();
    expect(heard).toEqual(['a 1111', 'a .', 'b 2222', 'b INTERNAL broken', 'c 3333', 'c .']);
  });

  it('holds back later requests of a decoupled model until an earlier one has had its last answer', () => {
    const { heard, ask, answer, inner } = begin();
    ask('a');
    ask('b');
    answer('a', 1);
    answer('b', 5);
    answer('a', 2);
    answer('b', 6);
    inner.get('a')?.complete();
    answer('b', 7);
    expect(heard).toEqual(['a 1111', 'a 2222', 'a .', 'b 5555', 'b 6666', 'b 7777']);
  });

  it('lets a rejected request hear of it at once, and keeps nobody waiting for it', () => {
    const { heard, ask, answer, inner } = begin();
    for (const id of ['a', 'b', 'c']) ask(id);
    inner.get('b')?.error(new InferError('UNAVAILABLE', 'full', { reason: 'REJECTED' }));
    inner.get('a')?.error(new InferError('CANCELLED', '', { reason: 'CANCELED' }));
    answer('c', 3);
    expect(heard).toEqual(['b UNAVAILABLE full', 'a CANCELLED ', 'c 3333']);
  });

  it('lets a failure without answers wait for its turn', () => {
    const { heard, ask, inner } = begin();
    for (const id of ['a', 'b']) ask(id);
    inner.get('b')?.error(new InferError('INTERNAL', 'broken', { reason: 'BACKEND' }));
    expect(heard).toEqual([]);
    inner.get('a')?.complete();
    expect(heard).toEqual(['a .', 'b INTERNAL broken']);
  });

  it('rejects what finds no room', () => {
    const { ask, answer, infer } = begin({ limit: 1 });
    const reasons: unknown[] = [];
    for (const id of ['a', 'b']) ask(id);
    infer(makeRequest({ id: 'c' })).subscribe({ error: ({ reason }) => reasons.push(reason) });
    answer('b', 2);
    answer('c', 3);
    expect(reasons).toEqual(['REJECTED']);
  });

  it('lets a request that was cancelled with another hear of it at once', () => {
    const { heard, ask, inner } = begin();
    for (const id of ['a', 'b']) ask(id);
    inner.get('b')?.error(new InferError('CANCELLED', '', { reason: 'CANCELED' }));
    expect(heard).toEqual(['b CANCELLED ']);
  });

  it('cancels inside when a caller goes, and goes on to the next', () => {
    const { heard, ask, answer, cancelled, counters } = begin();
    const first = ask('a');
    ask('b');
    answer('b', 2);
    expect(counters.heldSize).toBe(4);
    first.unsubscribe();
    expect(cancelled).toEqual(['a']);
    expect(heard).toEqual(['b 2222']);
  });

  it('goes on when a caller leaves with its last answer', () => {
    const { heard, ask, answer, infer } = begin();
    infer(makeRequest({ id: 'a' }))
      .pipe(take(1))
      .subscribe();
    ask('b');
    answer('b', 2);
    answer('a', 1);
    expect(heard).toEqual(['b 2222']);
  });

  it('fails, naming the limits, and cancels what finds no room', () => {
    const { heard, ask, answer, cancelled, counters } = begin({ limit: 9, maxBytes: 6 });
    for (const id of ['a', 'b', 'c']) ask(id);
    answer('b', 2);
    answer('c', 3);
    const text = "UNAVAILABLE answers of model 'm' that wait for earlier ones exceed the limit of 9 answers or 6 bytes";
    expect(heard).toEqual([`c ${text}`]);
    expect(cancelled).toEqual(['c']);
    expect(counters).toEqual({ in: 2, out: 0, dropped: 1, held: 1, heldSize: 4 });
  });

  it('survives 20,000 rounds of a caller that asks again as soon as it is answered', () => {
    const model: Infer = ({ id }) =>
      new Observable((subscriber) => {
        subscriber.next(response(id));
        subscriber.complete();
      });
    const infer = preserveOrdering({ spec: { name: 'm' }, counters: noOrderCounters() })(model);
    let left = 20_000;
    const ask = (): void => {
      if (left-- > 0) infer(makeRequest()).subscribe({ complete: ask });
    };
    ask();
    expect(left).toBe(-1);
  });
});

describe('preservesOrdering', () => {
  const sequences = (strategy: SequenceStrategy): SequenceBatching => ({
    strategy,
    maxIdleMs: 1000,
    controls: [],
    states: [],
    isIterative: false,
    endsIdleWithStep: false,
  });
  const oldest = (preserveOrdering: boolean): SequenceStrategy => ({
    kind: 'oldest',
    maxCandidateSequences: 4,
    preferredBatchSizes: [4],
    maxQueueDelayMs: 0,
    preserveOrdering,
  });

  it('is what the scheduler of the model says', () => {
    const says = (fields: Parameters<typeof makeSpec>[0]): boolean =>
      preservesOrdering(makeSpec({ dynamicBatching: undefined, ...fields }));
    expect(says({})).toBe(false);
    expect(says({ dynamicBatching: makeBatching() })).toBe(false);
    expect(says({ dynamicBatching: makeBatching({ preserveOrdering: true }) })).toBe(true);
    expect(says({ sequenceBatching: sequences(oldest(true)) })).toBe(true);
    expect(says({ sequenceBatching: sequences(oldest(false)) })).toBe(false);
    expect(says({ sequenceBatching: sequences({ kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 }) })).toBe(false);
  });
});

describe('orderBatches', () => {
  it('orders calls from their batch on, each by its first one', () => {
    const heard: string[] = [];
    const cancelled: string[] = [];
    const callOf = (id: string): Call =>
      new Call({
        request: makeRequest({ id }),
        rows: 1,
        shapeKey: '',
        arrivedMs: 0,
        caller: { next: () => heard.push(id), error: () => heard.push(`${id} failed`), complete: () => heard.push(`${id} .`) },
        holder: { cancel: (call) => cancelled.push(call.request.id) },
      });
    const order = orderBatches({ spec: { name: 'm' }, counters: noOrderCounters() });
    const resource: Instance = new HandInstance();
    const grant = (...items: readonly Call[]): void =>
      order({ items, lease: { resource, isOpen: true, onEnded: undefined, release: () => {} } });
    const [waiting, a, b, c] = ['w', 'a', 'b', 'c'].map(callOf);
    if (waiting === undefined || a === undefined || b === undefined || c === undefined) throw new Error('no calls');
    grant(a);
    grant(b, a, c);
    b.answerLast(response('b'));
    c.answerLast(response('c'));
    waiting.fail(new InferError('UNAVAILABLE', 'over'));
    expect(heard).toEqual(['w failed']);
    b.cancel();
    a.answer(response('a'));
    a.cancel();
    expect(heard).toEqual(['w failed', 'a', 'c', 'c .']);
    expect(cancelled).toEqual(['a']);
  });
});
