import type { Subscription } from 'rxjs';
import { Observable, of, Subject, throwError } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { LocalCache } from '../../../src/caches/local/local-cache.ts';
import { largestKeyBytes } from '../../../src/operators/cache/cache-keys.ts';
import { noCacheStageCounters, responseCache } from '../../../src/operators/cache/response-cache.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { noCacheTally, type ResponseCache } from '../../../src/streams/inference/response-cache.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { CachedModel } from '../../support/cached-model.ts';
import { makeBatching, makeLog, makeQueuePolicy, makeRequest, makeSpec, messageOf } from '../../support/model.ts';
import { inferResponse } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';

const request = (id: string, fill = 1): InferRequest => makeRequest({ id }, [1, 4], fill);

const failed = new InferError('INTERNAL', 'the model failed', { reason: 'BACKEND' });
const rejected = new InferError('UNAVAILABLE', 'Request timeout expired', { reason: 'REJECTED' });

describe('responseCache', () => {
  let model: CachedModel;

  beforeEach(() => {
    model = new CachedModel();
  });

  const kinds = (): readonly string[] => model.events.map(({ kind }) => kind);

  it('answers with what was answered before, under the id of the request', () => {
    const first = model.ask(request('a'));
    model.last.answer([1, 2]);
    model.last.complete();
    const second = model.ask(request('b'));
    expect(first.answers).toEqual([{ id: 'a', bytes: [1, 2], isLast: true }]);
    expect(second.answers).toEqual([{ id: 'b', bytes: [1, 2], isLast: true }]);
    expect([first.isComplete, second.isComplete, model.runs.length]).toEqual([true, true, 1]);
    expect(model.counters).toEqual({ in: 2, out: 2, failed: 0, queued: 0, running: 0 });
  });

  it('runs what was not asked before', () => {
    model.ask(request('a', 1));
    model.last.answer([1]);
    const other = model.ask(request('b', 2));
    expect(other.answers).toEqual([]);
    model.last.answer([2]);
    expect(other.answers).toEqual([{ id: 'b', bytes: [2], isLast: true }]);
  });

  it('tells of a miss what looking and inserting took, before the answer, and of a hit what looking took', () => {
    model.ask(request('a'));
    model.time.advance(5);
    model.last.answer([1]);
    model.ask(request('b'));
    expect(model.events).toEqual([
      { kind: 'cache-missed', model: 'm', version: '1', lookupMs: 0, insertMs: 0 },
      { kind: 'cache-answered', model: 'm', version: '1', queueMs: 0, lookupMs: 0 },
    ]);
    expect(model.cache.tally).toMatchObject({ lookups: 2, hits: 1, misses: 1 });
  });

  it('never keeps a failure', () => {
    expect(model.ask(request('a')).error).toBeUndefined();
    model.last.fail(failed);
    const again = model.ask(request('b'));
    expect(model.runs.length).toBe(2);
    model.last.answer([1]);
    expect(again.answers.length).toBe(1);
    expect(model.cache.tally).toMatchObject({ lookups: 2, hits: 0, misses: 2 });
    expect(kinds()).toEqual(['cache-missed', 'cache-missed']);
  });

  it('keeps no failure that comes after an answer', () => {
    const caller = model.ask(request('a'));
    model.last.answer([1], { isLast: false });
    model.last.fail(failed);
    expect([caller.answers.length, caller.error]).toEqual([1, failed]);
    model.ask(request('b'));
    expect(model.runs.length).toBe(2);
  });

  describe('with equal requests at one time', () => {
    it('runs once, and answers each under its own id', () => {
      const heard = ['a', 'b', 'c'].map((id) => model.ask(request(id)));
      expect(model.counters).toMatchObject({ running: 1, queued: 2 });
      model.time.advance(3);
      model.last.answer([7]);
      expect(heard.map(({ answers }) => answers[0])).toEqual(['a', 'b', 'c'].map((id) => ({ id, bytes: [7], isLast: true })));
      expect(heard.every(({ isComplete }) => isComplete)).toBe(true);
      expect(model.runs.length).toBe(1);
      const joined = { kind: 'cache-answered', model: 'm', version: '1', queueMs: 3, lookupMs: 0 };
      expect(model.events.slice(1)).toEqual([joined, joined]);
      expect(model.cache.tally).toMatchObject({ lookups: 3, hits: 2, misses: 1 });
      expect(model.counters).toEqual({ in: 3, out: 3, failed: 0, queued: 0, running: 0 });
    });

    it('goes on when the first goes away, and ends when the last does', () => {
      const [first, second] = [model.ask(request('a')), model.ask(request('b'))];
      first.caller.unsubscribe();
      expect(model.last.isCancelled).toBe(false);
      second.caller.unsubscribe();
      expect(model.last.isCancelled).toBe(true);
      expect(kinds()).toEqual(['cache-missed']);
      expect(model.counters).toEqual({ in: 2, out: 0, failed: 2, queued: 0, running: 0 });
      model.ask(request('c'));
      expect(model.runs.length).toBe(2);
    });

    it('keeps the answer of a run whose first caller has gone', () => {
      const [first, second] = [model.ask(request('a')), model.ask(request('b'))];
      first.caller.unsubscribe();
      model.last.answer([3]);
      expect(second.answers).toEqual([{ id: 'b', bytes: [3], isLast: true }]);
      expect(model.ask(request('c')).answers.length).toBe(1);
      expect(first.answers).toEqual([]);
    });

    it('ends a run whose only caller goes away while it begins', () => {
      const log = makeLog();
      let caller: Subscription | undefined;
      let isCancelled = false;
      const leaving = new Observable<InferResponse>(() => {
        caller?.unsubscribe();
        return () => {
          isCancelled = true;
        };
      });
      const cache = new LocalCache({ sizeBytes: 2000, log });
      const infer = responseCache({ spec: makeSpec(), cache, contentId: '', sink: () => {}, scheduler: { now: () => 0 }, log })(
        () => leaving,
      );
      new Observable<InferResponse>((subscriber) => {
        caller = subscriber;
        return infer(request('a')).subscribe(subscriber);
      }).subscribe();
      expect(isCancelled).toBe(true);
    });

    it('fails all when the model fails', () => {
      const heard = ['a', 'b'].map((id) => model.ask(request(id)));
      model.last.fail(failed);
      expect(heard.map(({ error }) => error)).toEqual([failed, failed]);
      expect([model.runs.length, model.counters.failed]).toEqual([1, 2]);
    });

    it('fails only the first when that was rejected, and runs the next under its own name', () => {
      const heard = ['a', 'b', 'c'].map((id) => model.ask(request(id)));
      model.last.fail(rejected);
      expect(heard.map(({ error }) => error)).toEqual([rejected, undefined, undefined]);
      expect(model.runs.map((run) => run.request.id)).toEqual(['a', 'b']);
      expect(model.counters).toMatchObject({ running: 1, queued: 1 });
      model.last.answer([4]);
      expect(heard.map(({ answers }) => answers.map(({ id }) => id))).toEqual([[], ['b'], ['c']]);
      expect(kinds()).toEqual(['cache-missed', 'cache-answered']);
    });

    it('runs anew for those that wait when the one that was rejected has gone', () => {
      const [first, second] = [model.ask(request('a')), model.ask(request('b'))];
      first.caller.unsubscribe();
      model.last.fail(rejected);
      expect(second.error).toBeUndefined();
      expect(model.last.request.id).toBe('b');
      model.last.fail(rejected);
      expect(second.error).toBe(rejected);
      expect(model.counters).toMatchObject({ failed: 2, queued: 0, running: 0 });
    });

    it('lets no more wait than may', () => {
      model = new CachedModel({ spec: makeSpec({ maxQueueSize: 2, dynamicBatching: undefined }) });
      const heard = ['a', 'b', 'c', 'd'].map((id) => model.ask(request(id)));
      expect(messageOf(heard[3]?.error)).toBe('UNAVAILABLE [request id: d] Exceeds maximum queue size');
      expect(heard[3]?.error?.reason).toBe('REJECTED');
      expect(model.counters).toEqual({ in: 4, out: 0, failed: 1, queued: 2, running: 1 });
      model.last.answer([1]);
      expect(heard.map(({ answers }) => answers.length)).toEqual([1, 1, 1, 0]);
    });

    it.each([
      ['an urgent one behind a patient one', { priorityLevels: 2n, defaultPriorityLevel: 2n }, { priority: 1n }],
      [
        'one with another time-out',
        { defaultQueuePolicy: makeQueuePolicy({ defaultTimeoutMs: 10, allowTimeoutOverride: true }) },
        { timeoutMicroseconds: 5n },
      ],
    ])('does not put %s', (_, batching, fields) => {
      model = new CachedModel({ spec: makeSpec({ dynamicBatching: makeBatching(batching) }) });
      model.ask(request('a'));
      model.ask({ ...request('b'), ...fields });
      expect(model.runs.length).toBe(2);
      model.ask({ ...request('c'), ...fields });
      expect(model.runs.length).toBe(2);
    });
  });

  describe('of a decoupled model', () => {
    beforeEach(() => {
      model = new CachedModel({ spec: makeSpec({ decoupled: true }) });
    });

    it('keeps the whole answer, and gives who comes late what came before', () => {
      const early = model.ask(request('a'));
      model.last.answer([1], { isLast: false });
      model.last.answer([2], { isLast: false });
      const late = model.ask(request('b'));
      expect(late.answers.map(({ bytes }) => bytes)).toEqual([[1], [2]]);
      model.last.answer([3], { isLast: false });
      model.last.complete();
      const after = model.ask(request('c'));
      expect([early, late, after].map(({ answers }) => answers.flatMap(({ bytes }) => bytes))).toEqual(Array(3).fill([1, 2, 3]));
      expect(after.answers.map(({ isLast }) => isLast)).toEqual([false, false, true]);
      expect([early, late, after].map(({ isComplete }) => isComplete)).toEqual([true, true, true]);
      expect(model.runs.length).toBe(1);
    });

    it('keeps that there was no answer', () => {
      model.ask(request('a'));
      model.last.complete();
      const second = model.ask(request('b'));
      expect([second.answers.length, second.isComplete, model.runs.length]).toEqual([0, true, 1]);
    });

    it('fails all after the first answer, whatever the failure', () => {
      const heard = ['a', 'b'].map((id) => model.ask(request(id)));
      model.last.answer([1], { isLast: false });
      model.last.fail(rejected);
      expect(heard.map(({ error }) => error)).toEqual([rejected, rejected]);
    });

    it('never keeps a stream with an error in it, and lets nobody join it from there', () => {
      const error = new InferError('INTERNAL', 'bad', { reason: 'BACKEND' });
      const [first, second] = [model.ask(request('a')), model.ask(request('b'))];
      const run = model.last;
      run.answer([1], { isLast: false });
      run.answer([], { isLast: false, error });
      model.ask(request('c'));
      run.answer([2], { isLast: false });
      run.complete();
      for (const { answers, isComplete } of [first, second]) {
        expect(answers.map(({ bytes, error: bad }) => bad?.message ?? bytes)).toEqual([[1], 'bad', [2]]);
        expect(isComplete).toBe(true);
      }
      expect(model.runs.length).toBe(2);
      model.last.answer([1]);
      expect(model.ask(request('d')).answers.map(({ bytes }) => bytes)).toEqual([[1]]);
      expect(model.runs.length).toBe(2);
    });

    it('waits only while all who ask are without room, and goes on when one of them has some or goes', () => {
      const demands = Array.from({ length: 3 }, () => ({ isOpen: true, onOpen: undefined as (() => void) | undefined }));
      const [a, b, c] = demands;
      const heard = ['a', 'b'].map((id, n) => model.ask({ ...request(id), demand: demands[n] }));
      const demand = model.last.request.demand;
      let opened = 0;
      if (demand !== undefined) demand.onOpen = () => opened++;
      if (a === undefined || b === undefined || c === undefined) throw new Error('there are three');
      a.isOpen = false;
      expect(demand?.isOpen).toBe(true);
      b.isOpen = false;
      expect(demand?.isOpen).toBe(false);
      b.isOpen = true;
      b.onOpen?.();
      expect([demand?.isOpen, opened]).toEqual([true, 1]);
      b.isOpen = false;
      const third = model.ask({ ...request('c'), demand: c });
      expect([demand?.isOpen, opened]).toEqual([true, 2]);
      third.caller.unsubscribe();
      expect(demand?.isOpen).toBe(false);
      model.ask(request('d'));
      expect([demand?.isOpen, opened]).toEqual([true, 3]);
      expect(heard.map(({ isComplete }) => isComplete)).toEqual([false, false]);
    });

    it('lets answers pass that grow too large, to all that have come so far, and lets nobody join any more', () => {
      const log = makeLog();
      model = new CachedModel({ log, cache: new LocalCache({ sizeBytes: 64, log }), spec: makeSpec({ decoupled: true }) });
      const [first, second] = [model.ask(request('a')), model.ask(request('b'))];
      const run = model.last;
      run.answer(Array(40).fill(1), { isLast: false });
      run.answer(Array(40).fill(2), { isLast: false });
      model.ask(request('c'));
      expect(model.runs.length).toBe(2);
      run.answer([3]);
      run.complete();
      for (const { answers, isComplete } of [first, second]) {
        expect(answers.map(({ bytes }) => bytes[0])).toEqual([1, 2, 3]);
        expect(isComplete).toBe(true);
      }
      expect(log.lines.length).toBe(1);
      expect(log.lines[0]).toMatch(
        /^warning Failed to insert key \[[0-9a-f]{64}\] into response cache: Requested byte_size: 336 is greater/,
      );
      expect(model.counters).toMatchObject({ out: 2, queued: 0, running: 1 });
    });

    it('holds no more of empty answers than of others', () => {
      const log = makeLog();
      model = new CachedModel({ log, cache: new LocalCache({ sizeBytes: 5500, log }), spec: makeSpec({ decoupled: true }) });
      const caller = model.ask(request('a'));
      for (let n = 0; n < 100; n++) model.last.answer([], { isLast: false });
      expect(caller.answers.length).toBe(100);
      model.ask(request('b'));
      expect(model.runs.length).toBe(2);
    });

    it('keeps together no more of what runs answer than one entry may be', () => {
      const log = makeLog();
      model = new CachedModel({ log, cache: new LocalCache({ sizeBytes: 5500, log }), spec: makeSpec({ decoupled: true }) });
      model.ask(request('a', 1));
      const first = model.last;
      first.answer(Array(3000).fill(1), { isLast: false });
      model.ask(request('b', 2));
      model.last.answer(Array(3000).fill(1), { isLast: false });
      model.last.complete();
      first.complete();
      expect(model.ask(request('c', 1)).answers.length).toBe(1);
      expect(model.ask(request('d', 2)).answers.length).toBe(0);
      expect(log.lines).toEqual([]);
    });
  });

  it('asks the model as if there was no cache with more than it can compare, and says so once', () => {
    const width = largestKeyBytes + 1;
    for (const id of ['a', 'b']) model.ask(makeRequest({ id }, [1, width]));
    expect(model.runs.length).toBe(2);
    expect(model.log.lines).toEqual([`warning requests to model 'm' version 1 with more than ${largestKeyBytes} bytes are not cached`]);
    expect(model.counters.in).toBe(0);
  });

  it('keeps the outputs that were asked for', () => {
    const outputs = ['A', 'B'].map((name) => ({ name, datatype: 'UINT8' as const, dims: [1], reshape: undefined, labels: [] }));
    const spec = makeSpec({ outputs });
    const answer = inferResponse({ A: new Tensor('UINT8', [1], Buffer.of(1)), B: new Tensor('UINT8', [1], Buffer.of(2)) });
    let runs = 0;
    const log = makeLog();
    const cache = new LocalCache({ sizeBytes: 10_000, log });
    const infer = responseCache({ spec, cache, contentId: '', sink: () => {}, scheduler: { now: () => 0 }, log })(() => {
      runs++;
      return of(answer);
    });
    const namesFor = (...names: string[]): string[] => {
      let found: string[] = [];
      infer({ ...request('a'), outputs: names.map((name) => ({ name, classification: 0 })) }).subscribe((response) => {
        found = [...response.outputs.keys()];
      });
      return found;
    };
    expect([namesFor(), namesFor('B'), namesFor('B'), namesFor('B', 'A'), namesFor('A', 'B')]).toEqual([
      ['A', 'B'],
      ['B'],
      ['B'],
      ['A', 'B'],
      ['A', 'B'],
    ]);
    expect(runs).toBe(2);
  });

  it.each([
    ['hits', () => 1, () => of(inferResponse({}))],
    ['misses', (n: number) => n % 251, () => of(inferResponse({}))],
    ['failures', () => 1, () => throwError(() => rejected)],
  ])('does not nest however many %s bring the next one', (_, fill, run) => {
    const log = makeLog();
    const cache = new LocalCache({ sizeBytes: 2000, log });
    const infer = responseCache({ spec: makeSpec(), cache, contentId: '', sink: () => {}, scheduler: { now: () => 0 }, log })(run);
    let rounds = 0;
    const askAgain = (): void => {
      rounds++;
      if (rounds < 20_000) infer(request('', fill(rounds))).subscribe({ next: askAgain, error: askAgain });
    };
    askAgain();
    expect(rounds).toBe(20_000);
  });

  it('does not nest when everybody who waits is rejected at once', () => {
    const log = makeLog();
    const cache = new LocalCache({ sizeBytes: 2000, log });
    const counters = noCacheStageCounters();
    const first = new Subject<InferResponse>();
    const ids: string[] = [];
    const spec = makeSpec({ maxQueueSize: 10_000, dynamicBatching: undefined });
    const config = { spec, cache, contentId: '', sink: () => {}, scheduler: { now: () => 0 }, log, counters };
    const infer = responseCache(config)(({ id }) => {
      ids.push(id);
      return ids.length === 1 ? first : throwError(() => rejected);
    });
    const errors: unknown[] = [];
    for (let n = 0; n < 5000; n++) infer(request(`${n}`)).subscribe({ error: (error) => errors.push(error) });
    first.error(rejected);
    expect(errors.length).toBe(5000);
    // What overflows the stack may end as the failure of a request.
    expect(new Set(errors)).toEqual(new Set([rejected]));
    expect(ids).toEqual(Array.from({ length: 5000 }, (_, n) => `${n}`));
    expect(counters).toEqual({ in: 5000, out: 0, failed: 5000, queued: 0, running: 0 });
  });

  describe('over a cache that has to fetch', () => {
    /** A local cache whose answers come later. */
    const fetching = (): ResponseCache => {
      const local = new LocalCache({ sizeBytes: 100_000, log: makeLog() });
      return {
        name: 'fetching',
        isShared: true,
        largestEntryBytes: local.largestEntryBytes,
        waitingBytes: 0,
        waitingBytesLimit: 0,
        tally: noCacheTally(),
        lookup: async (key) => local.lookup(key),
        insert: async (key, answers) => local.insert(key, answers),
        fill: () => local.fill(),
        close: () => local.close(),
      };
    };

    beforeEach(() => {
      model = new CachedModel({ cache: fetching() });
    });

    it('looks once for all that ask, and then runs once', async () => {
      const heard = ['a', 'b'].map((id) => model.ask(request(id)));
      expect([model.runs.length, model.counters.running, model.counters.queued]).toEqual([0, 1, 1]);
      await until(() => model.runs.length > 0);
      model.last.answer([5]);
      expect(heard.map(({ answers }) => answers.map(({ id }) => id))).toEqual([['a'], ['b']]);
      await until(() => kinds().includes('cache-missed'));
      const third = model.ask(request('c'));
      const fourth = model.ask(request('d'));
      await until(() => fourth.isComplete);
      expect([third, fourth].map(({ answers }) => answers[0]?.bytes)).toEqual([[5], [5]]);
      expect(model.runs.length).toBe(1);
      expect(model.cache.tally).toMatchObject({ lookups: 4, hits: 3, misses: 1 });
      expect(model.counters).toEqual({ in: 4, out: 4, failed: 0, queued: 0, running: 0 });
    });

    it('looks again after it has found', async () => {
      model.ask(request('a'));
      await until(() => model.runs.length === 1);
      model.last.answer([5]);
      const second = model.ask(request('b'));
      await until(() => second.isComplete);
      await model.cache.close();
      model.ask(request('c'));
      await until(() => model.runs.length === 2);
    });

    it('runs nothing for callers that have gone while it looked', async () => {
      model.ask(request('a')).caller.unsubscribe();
      await until(() => model.cache.tally.misses === 1);
      await until(() => kinds().includes('cache-missed'));
      expect([model.runs.length, model.counters.running]).toEqual([0, 0]);
    });

    it('runs for the next one when the first has gone while it looked', async () => {
      const [first, second] = [model.ask(request('a')), model.ask(request('b'))];
      first.caller.unsubscribe();
      await until(() => model.runs.length > 0);
      expect(model.last.request.id).toBe('b');
      model.last.answer([6]);
      expect(second.answers.length).toBe(1);
      expect(model.counters).toEqual({ in: 2, out: 1, failed: 1, queued: 0, running: 0 });
    });
  });
});
