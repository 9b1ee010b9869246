import { take } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { SlowCache } from '../../../property-tests/models/slow-cache.ts';
import { LocalCache } from '../../../src/caches/local/local-cache.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { CachedAnswers, CacheKey } from '../../../src/streams/inference/response-cache.ts';
import { CachedModel, type Heard } from '../../support/cached-model.ts';
import { makeLog, makeRequest, makeSpec } from '../../support/model.ts';
import { until } from '../../support/until.ts';

const request = (id: string): InferRequest => makeRequest({ id }, [1, 4], 1);

const failed = new InferError('INTERNAL', 'the model failed', { reason: 'BACKEND' });
const rejected = new InferError('UNAVAILABLE', 'Request timeout expired', { reason: 'REJECTED' });
const bad = new InferError('INTERNAL', 'bad', { reason: 'BACKEND' });

/** What each has heard: bytes, or the text of an error, and its end. */
const heardBy = ({ answers, error, isComplete }: Heard): string =>
  [
    ...answers.map(({ bytes, error: own }) => own?.message ?? bytes.join()),
    ...(isComplete ? ['end'] : []),
    ...(error ? [error.message] : []),
  ].join(' ');

describe('a run that many wait for', () => {
  let model: CachedModel;

  beforeEach(() => {
    model = new CachedModel({ spec: makeSpec({ decoupled: true }) });
  });

  /** Asks, and does something with the first answer that comes. */
  const askAnd = (id: string, then: (bytes: string) => void): Heard => {
    const heard: Omit<Heard, 'caller'> = { answers: [], error: undefined, isComplete: false };
    const caller = model.infer(request(id)).subscribe({
      next: ({ isLast, outputs, error }) => {
        const bytes = [...(outputs.get('OUT')?.bytes ?? [])];
        heard.answers.push({ id, isLast, bytes, error });
        then(error?.message ?? bytes.join());
      },
      error: (error: InferError) => {
        heard.error = error;
      },
      complete: () => {
        heard.isComplete = true;
      },
    });
    return Object.assign(heard, { caller });
  };

  it('is asked with the very request where nobody has a demand', () => {
    const asked = request('a');
    model.ask(asked);
    expect(model.last.request).toBe(asked);
  });

  it('tells a model that waits for room when all have gone', () => {
    const demand = { isOpen: false, onOpen: undefined as (() => void) | undefined };
    const [first, second] = ['a', 'b'].map((id) => model.ask({ ...request(id), demand: { ...demand } }));
    const run = model.last;
    const shared = run.request.demand;
    const heard: boolean[] = [];
    if (shared !== undefined) shared.onOpen = () => heard.push(run.isCancelled);
    first?.caller.unsubscribe();
    expect([shared?.isOpen, heard]).toEqual([false, []]);
    second?.caller.unsubscribe();
    expect([shared?.isOpen, heard]).toEqual([true, [true]]);
  });

  it('is over with the last answer, whatever the model does after it', () => {
    const inserted: [CacheKey, number][] = [];
    const cache = new LocalCache({ sizeBytes: 100_000, log: makeLog() });
    const insert = cache.insert.bind(cache);
    cache.insert = (key: CacheKey, answers: CachedAnswers) => {
      inserted.push([key, answers.length]);
      return insert(key, answers);
    };
    model = new CachedModel({ cache, spec: makeSpec({ decoupled: true }) });
    model.ask(request('a'));
    model.last.answer([1]);
    model.last.answer([2]);
    model.last.complete();
    expect(inserted.map(([, count]) => count)).toEqual([1]);
    expect(heardBy(model.ask(request('b')))).toBe('1 end');
  });

  it.each([
    ['fails', () => model.last.fail(failed)],
    ['answers', () => model.last.answer([2])],
  ])('gives everybody the end that it had, though the model %s while the first hears of it', (_, act) => {
    const first = askAnd('a', act);
    const second = model.ask(request('b'));
    model.last.answer([1]);
    expect([first, second].map(heardBy)).toEqual(['1 end', '1 end']);
  });

  it('fails everybody though one of them goes when the model has failed', () => {
    const first = askAnd('a', () => {
      model.last.fail(failed);
      second.caller.unsubscribe();
    });
    const second = model.ask(request('b'));
    const third = model.ask(request('c'));
    model.last.answer([1], { isLast: false });
    expect([first, second, third].map(heardBy)).toEqual(['1 the model failed', '', '1 the model failed']);
  });

  it('is not begun anew for the first when only others have gone before it was rejected', () => {
    const [first, second] = ['a', 'b'].map((id) => model.ask(request(id)));
    second?.caller.unsubscribe();
    model.last.fail(rejected);
    expect([first?.error, model.runs.length]).toEqual([rejected, 1]);
  });

  it('is not begun anew when all others go as the first is rejected', () => {
    const errors: InferError[] = [];
    model.infer(request('a')).subscribe({
      error: (error: InferError) => {
        errors.push(error);
        second.caller.unsubscribe();
      },
    });
    const second = model.ask(request('b'));
    model.last.fail(rejected);
    expect([errors, model.runs.length, model.counters.failed]).toEqual([[rejected], 1, 2]);
    model.ask(request('c'));
    expect(model.runs.length).toBe(2);
  });

  describe('whose answers pass', () => {
    const pass = (): void => model.last.answer([], { isLast: false, error: bad });

    it('gives them to all in the order in which they came', () => {
      const order: string[] = [];
      for (const id of ['a', 'b', 'c']) askAnd(id, () => order.push(id));
      pass();
      expect(order).toEqual(['a', 'b', 'c']);
    });

    it.each([
      ['completes', () => model.last.complete(), 'bad end'],
      ['fails', () => model.last.fail(failed), 'bad the model failed'],
    ])('gives them to all before its end, though the model %s while the first hears', (_, act, all) => {
      const first = askAnd('a', act);
      const second = model.ask(request('b'));
      pass();
      expect([first, second].map(heardBy)).toEqual([all, all]);
    });

    it('gives them once and in order, though the first has the model answer while it hears what was recorded', () => {
      const first = askAnd('a', (heard) => {
        if (heard === '1') {
          model.last.answer([2], { isLast: false });
          pass();
        } else if (heard === '2') model.last.answer([4], { isLast: false });
      });
      const second = model.ask(request('b'));
      model.last.answer([1], { isLast: false });
      model.last.complete();
      expect([first, second].map(heardBy)).toEqual(['1 2 bad 4 end', '1 2 bad 4 end']);
    });

    it('is cancelled by the last who goes, and may be asked anew from then on', () => {
      const [first, second] = ['a', 'b'].map((id) => model.ask(request(id)));
      pass();
      const run = model.last;
      const third = model.ask(request('c'));
      first?.caller.unsubscribe();
      expect(run.isCancelled).toBe(false);
      second?.caller.unsubscribe();
      expect([run.isCancelled, model.last.isCancelled, third.isComplete]).toEqual([true, false, false]);
    });
  });
});

describe('answers that were kept', () => {
  it('end without harm when the caller goes at one of them', () => {
    const model = new CachedModel({ spec: makeSpec({ decoupled: true }) });
    model.ask(request('a'));
    for (const byte of [1, 2]) model.last.answer([byte], { isLast: byte === 2 });
    const seen: number[] = [];
    model
      .infer(request('b'))
      .pipe(take(1))
      .subscribe(({ outputs }) => seen.push(...(outputs.get('OUT')?.bytes ?? [])));
    expect([seen, model.counters]).toEqual([[1], { in: 2, out: 1, failed: 1, queued: 0, running: 0 }]);
  });

  it('are counted before their caller sees the last of them', () => {
    const model = new CachedModel();
    const out: number[] = [];
    const ask = (): void => void model.infer(request('a')).subscribe(() => out.push(model.counters.out));
    ask();
    model.last.answer([1]);
    ask();
    expect(out).toEqual([1, 2]);
  });

  it('give back the room that they took while they were recorded', () => {
    const model = new CachedModel({ cache: new LocalCache({ sizeBytes: 9000, log: makeLog() }) });
    for (let fill = 1; fill <= 5; fill++) {
      const fresh = makeRequest({}, [1, 4], fill);
      model.ask(fresh);
      model.last.answer(Array(3000).fill(fill));
      expect(model.ask(fresh).isComplete).toBe(true);
    }
    expect(model.runs.length).toBe(5);
  });

  it('are told of as inserted when they are', async () => {
    const local = new LocalCache({ sizeBytes: 9000, log: makeLog() });
    let done: () => void = () => {};
    const slow = new SlowCache(local);
    slow.insert = () =>
      new Promise((resolve) => {
        done = resolve;
      });
    const model = new CachedModel({ cache: slow });
    model.ask(request('a'));
    slow.answer();
    await until(() => model.runs.length === 1);
    model.last.answer([1]);
    model.time.advance(4);
    expect(model.events).toEqual([]);
    done();
    await until(() => model.events.length === 1);
    expect(model.events).toMatchObject([{ kind: 'cache-missed', insertMs: 4 }]);
  });
});

describe('a run that the cache may spare', () => {
  let slow: SlowCache;
  let model: CachedModel;

  beforeEach(() => {
    const local = new LocalCache({ sizeBytes: 100_000, log: makeLog() });
    slow = new SlowCache(local);
    model = new CachedModel({ cache: local });
    model.ask(request('before'));
    model.last.answer([5]);
    model = new CachedModel({ cache: slow });
  });

  const hit = (fields: object): object => ({ kind: 'cache-answered', model: 'm', version: '1', queueMs: 0, lookupMs: 0, ...fields });

  it('counts for the first as a look, and for the others as a wait', async () => {
    const first = model.ask(request('a'));
    model.time.advance(2);
    const second = model.ask(request('b'));
    model.time.advance(5);
    slow.answer();
    await until(() => second.isComplete);
    expect([first, second].map(heardBy)).toEqual(['5 end', '5 end']);
    expect(model.events).toEqual([hit({ lookupMs: 7 }), hit({ queueMs: 5 })]);
    expect(model.counters).toEqual({ in: 2, out: 2, failed: 0, queued: 0, running: 0 });
  });

  it('answers who is left when the first has gone while it looked', async () => {
    const first = model.ask(request('a'));
    const second = model.ask(request('b'));
    first.caller.unsubscribe();
    slow.answer();
    await until(() => second.isComplete);
    expect([first, second].map(heardBy)).toEqual(['', '5 end']);
    expect(model.runs.length).toBe(0);
  });
});
