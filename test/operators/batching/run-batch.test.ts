import { mergeMap, Observable, of, type Subscription, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { noRunCounters, releasedLimit, runBatch } from '../../../src/operators/batching/run-batch.ts';
import { Call } from '../../../src/operators/call.ts';
import type { Granted } from '../../../src/streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../../../src/streams/flow/clock.ts';
import type { Lease } from '../../../src/streams/flow/leases.ts';
import type { Instance, Part } from '../../../src/streams/inference/backend.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferenceEvent } from '../../../src/streams/inference/events.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { operatorLaws } from '../../contracts/operator-laws.ts';
import { HandInstance, instantInstance, makeLog, makePart, makeRequest, makeSpec, messageOf } from '../../support/model.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const nobody = { cancel: () => {} };

/** A call and what its caller sees: `answer`, `complete`, `error CODE text`. */
const makeCaller = (n: number, scheduler: Scheduler, onAnswer: (answer: InferResponse) => void = () => {}) => {
  const seen: string[] = [];
  const calls: Call[] = [];
  const errors: InferError[] = [];
  const caller: Subscription = new Observable<InferResponse>((subscriber) => {
    const call = new Call({
      request: makeRequest({ id: `${n}` }),
      rows: 1,
      shapeKey: '',
      arrivedMs: scheduler.now(),
      caller: subscriber,
      holder: nobody,
    });
    calls.push(call);
    subscriber.add(() => call.cancel());
  }).subscribe({
    next: (answer) => {
      onAnswer(answer);
      seen.push(answer.isLast ? 'last answer' : 'answer');
    },
    error: (error: InferError) => {
      errors.push(error);
      seen.push(`error ${messageOf(error)}`);
    },
    complete: () => seen.push('complete'),
  });
  const [call] = calls;
  if (call === undefined) throw new Error('no call was made');
  return { call, caller, seen, errors };
};

const makeLease = (resource: Instance) => {
  const lease: Lease<Instance> & { released: number } = {
    resource,
    isOpen: true,
    onEnded: undefined,
    released: 0,
    release: () => lease.released++,
  };
  return lease;
};

interface BeginOptions {
  readonly callers?: number;
  readonly decoupled?: boolean;
  readonly onAnswer?: (answer: InferResponse) => void;
}

const begin = (instance: Instance, { callers: count = 2, decoupled = false, onAnswer }: BeginOptions = {}) => {
  const time = new VirtualTime();
  const callers = Array.from({ length: count }, (_, n) => makeCaller(n, time, onAnswer));
  const events: InferenceEvent[] = [];
  const counters = noRunCounters();
  const log = makeLog();
  const lease = makeLease(instance);
  const ends: string[] = [];
  const run = runBatch({
    spec: makeSpec({ version: '3', decoupled }),
    sink: (event) => events.push(event),
    scheduler: time,
    log,
    counters,
  });
  const running = run({ items: callers.map(({ call }) => call), lease }).subscribe({
    complete: () => ends.push('complete'),
    error: (error) => ends.push(`error ${error}`),
  });
  return { callers, events, counters, log, lease, ends, running, seen: () => callers.map(({ seen }) => seen) };
};

const answering = (...parts: Part[]): Instance => ({ capacity: 1, run: () => of(...parts) });

operatorLaws<Granted<Call, Instance>, never>({
  name: 'runBatch',
  limit: Number.POSITIVE_INFINITY,
  create: (scheduler) => {
    const out: number[] = [];
    const lost: number[] = [];
    const leases: ReturnType<typeof makeLease>[] = [];
    const config = { sink: () => {}, scheduler, log: makeLog(), counters: noRunCounters() };
    const run = runBatch({ spec: makeSpec(), ...config });
    return {
      operator: mergeMap(run),
      item: (n) => {
        const calls: Call[] = [];
        new Observable<InferResponse>((caller) => {
          calls.push(new Call({ request: makeRequest(), rows: 1, shapeKey: '', arrivedMs: 0, caller, holder: nobody }));
        }).subscribe({ next: () => out.push(n), error: () => lost.push(n) });
        const lease = makeLease(instantInstance);
        leases.push(lease);
        return { items: calls, lease };
      },
      numbersOf: () => [],
      out,
      lost,
      serve: () => {},
      held: () => leases.filter(({ released }) => released !== 1).length,
    };
  },
});

describe('runBatch', () => {
  it('hands each answer to its caller, whatever their order, and ends each once', () => {
    const { seen, counters, events, lease, ends } = begin(answering(makePart(1), makePart(0)));
    expect(seen()).toEqual([
      ['last answer', 'complete'],
      ['last answer', 'complete'],
    ]);
    expect(counters).toEqual({ in: 2, out: 2, failed: 0, running: 0, batches: 0, released: 0 });
    expect(events).toMatchObject([{ model: 'm', version: '3', rows: 2, succeeded: 2, succeededRows: 2 }]);
    expect([lease.released, ends]).toEqual([1, ['complete']]);
  });

  it('takes the end of the run for the last flag', () => {
    const { seen } = begin(answering(makePart(0, { isLast: false }), makePart(1)));
    expect(seen()).toEqual([
      ['answer', 'complete'],
      ['last answer', 'complete'],
    ]);
  });

  it('fails the request that got no answer, and no other', () => {
    const { seen, callers, events } = begin(answering(makePart(1)));
    expect(seen()).toEqual([["error INTERNAL expected a single response, got 0 from model 'm' version 3"], ['last answer', 'complete']]);
    expect(callers[0]?.errors[0]?.reason).toBe('BACKEND');
    expect(events).toMatchObject([{ rows: 2, succeeded: 1, succeededRows: 1 }]);
  });

  it('fails the request that got two', () => {
    const { seen } = begin(answering(makePart(0, { isLast: false }), makePart(0, { outputs: makeRequest().inputs }), makePart(1)));
    expect(seen()).toEqual([
      ['answer', "error INTERNAL expected a single response, got 2 from model 'm' version 3"],
      ['last answer', 'complete'],
    ]);
  });

  it('logs an answer after the last one', () => {
    const { seen, log } = begin(answering(makePart(0), makePart(0, { outputs: makeRequest().inputs }), makePart(1)));
    expect(seen()[0]).toEqual(['last answer', 'complete']);
    expect(log.lines).toEqual(["error expected a single response, got 2 from model 'm' version 3"]);
  });

  it('lets a decoupled model answer often or never', () => {
    const many = makePart(0, { isLast: false });
    const last = makePart(0, { outputs: makeRequest().inputs });
    const { seen, counters } = begin(answering(many, many, last), { decoupled: true });
    expect(seen()).toEqual([['answer', 'answer', 'last answer', 'complete'], ['complete']]);
    expect(counters.out).toBe(2);
  });

  it('fails one request for its own error', () => {
    const error = new InferError('INVALID_ARGUMENT', 'bad row');
    const { seen, callers } = begin(answering(makePart(0, { error }), makePart(1)));
    expect(seen()).toEqual([['error INVALID_ARGUMENT bad row'], ['last answer', 'complete']]);
    expect(callers[0]?.errors[0]).toMatchObject({ reason: 'BACKEND', cause: error });
  });

  it.each<[string, Instance]>([
    [
      'throws',
      {
        capacity: 1,
        run: () => {
          throw new Error('boom');
        },
      },
    ],
    ['errors', { capacity: 1, run: () => throwError(() => new Error('boom')) }],
  ])('fails all of the batch when the instance %s, and nothing more', (_, instance) => {
    const { seen, callers, ends, lease, events, counters } = begin(instance);
    expect(seen()).toEqual([['error INTERNAL boom'], ['error INTERNAL boom']]);
    expect(callers[0]?.errors[0]?.reason).toBe('BACKEND');
    expect([ends, lease.released, events]).toEqual([['complete'], 1, []]);
    expect(counters).toEqual({ in: 2, out: 0, failed: 2, running: 0, batches: 0, released: 0 });
  });

  it('spares from an error who had the last answer', () => {
    const instance = new HandInstance();
    const { seen, events } = begin(instance);
    instance.last.answer(makePart(0));
    instance.last.fail(new Error('boom'));
    expect(seen()).toEqual([['last answer', 'complete'], ['error INTERNAL boom']]);
    expect(events).toHaveLength(1);
  });

  it('passes an error on that says itself whose it is', () => {
    const error = new InferError('UNAVAILABLE', 'no room', { reason: 'REJECTED' });
    const { callers } = begin(answering(makePart(0, { error }), makePart(1)));
    expect(callers[0]?.errors).toEqual([error]);
    expect(callers[0]?.errors[0]).toBe(error);
  });

  it('waits for the end of the run though the last answer is an error', () => {
    const instance = new HandInstance();
    const { seen, lease } = begin(instance, { callers: 1 });
    instance.last.answer(makePart(0, { error: new InferError('INTERNAL', 'no') }));
    expect([seen()[0], instance.last.isCancelled, lease.released]).toEqual([['error INTERNAL no'], false, 0]);
    instance.last.complete();
    expect([instance.last.isCancelled, lease.released]).toEqual([false, 1]);
  });

  it('takes an end without outputs for the end of an answer that did not say so', () => {
    const instance = new HandInstance();
    const { seen } = begin(instance, { callers: 1 });
    instance.last.answer(makePart(0, { isLast: false, outputs: makeRequest().inputs }));
    instance.last.answer(makePart(0));
    expect(seen()).toEqual([['answer', 'complete']]);
  });

  it('refuses to run a request again that is no step of an iterative sequence', () => {
    const { callers, seen } = begin(answering(makePart(0, { isRescheduled: true }), makePart(1)));
    const text =
      'Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.';
    expect(seen()[0]).toEqual([`error INVALID_ARGUMENT ${text}`]);
    expect(callers[0]?.errors[0]?.reason).toBe('BACKEND');
  });

  it('fails the batch when an answer belongs to nobody', () => {
    const { seen } = begin(answering(makePart(2)));
    expect(seen()[0]).toEqual(["error INTERNAL model 'm' version 3 answered request 2 of a batch of 2"]);
  });

  it('goes on while one caller is left, and cancels when none is', () => {
    const instance = new HandInstance();
    const { callers, lease, counters, seen } = begin(instance);
    callers[0]?.caller.unsubscribe();
    instance.last.answer(makePart(0));
    expect([instance.last.isCancelled, lease.released, counters.running]).toEqual([false, 0, 1]);
    callers[1]?.caller.unsubscribe();
    expect([instance.last.isCancelled, lease.released, counters.running]).toEqual([true, 1, 0]);
    expect(seen()).toEqual([[], []]);
  });

  it('does not cancel a run whose callers were all answered', () => {
    const instance = new HandInstance();
    const { lease } = begin(instance);
    instance.last.answer(makePart(0));
    instance.last.answer(makePart(1));
    expect([instance.last.isCancelled, lease.released]).toEqual([false, 0]);
    instance.last.complete();
    expect([instance.last.isCancelled, lease.released]).toEqual([false, 1]);
  });

  it('survives a caller that cancels while the instance answers within the call', () => {
    let isCancelled = false;
    const cancelling: Instance = {
      capacity: 1,
      run: () =>
        new Observable((parts) => {
          run.callers[0]?.caller.unsubscribe();
          parts.next(makePart(0));
          return () => {
            isCancelled = true;
          };
        }),
    };
    const run: { callers: ReturnType<typeof makeCaller>[] } = { callers: [] };
    const time = new VirtualTime();
    run.callers.push(makeCaller(0, time));
    const lease = makeLease(cancelling);
    const counters = noRunCounters();
    const config = { sink: () => {}, scheduler: time, log: makeLog(), counters };
    runBatch({ spec: makeSpec(), ...config })({
      items: run.callers.map(({ call }) => call),
      lease,
    }).subscribe();
    expect([isCancelled, lease.released, counters]).toEqual([true, 1, { in: 1, out: 0, failed: 1, running: 0, batches: 0, released: 0 }]);
  });

  it('fails who waits when it is unsubscribed', () => {
    const instance = new HandInstance();
    const { running, callers, seen, lease } = begin(instance, { callers: 1 });
    running.unsubscribe();
    expect(callers[0]?.errors[0]?.reason).toBe('BACKEND');
    expect(seen()).toEqual([["error UNAVAILABLE an instance of model 'm' version 3 ended while it ran the request"]]);
    expect([instance.last.isCancelled, lease.released]).toEqual([true, 1]);
  });

  it('hears from a decoupled model that nothing follows, and tells it as an end and not as an answer', () => {
    const { seen, counters } = begin(answering(makePart(1), makePart(0, { isLast: false }), makePart(0)), { decoupled: true });
    expect(seen()).toEqual([['answer', 'complete'], ['complete']]);
    expect(counters.out).toBe(2);
  });

  it('takes parameters alone for an answer', () => {
    const answers: InferResponse[] = [];
    const parameters = new Map([['left', 3n]]);
    const { seen } = begin(answering(makePart(0, { parameters }), makePart(1)), {
      decoupled: true,
      onAnswer: (answer) => answers.push(answer),
    });
    expect(seen()).toEqual([['last answer', 'complete'], ['complete']]);
    expect(answers.map((answer) => answer.parameters)).toEqual([parameters]);
  });

  it('refuses an error after the answer of a model that answers once', () => {
    const error = new InferError('INTERNAL', 'too late');
    const { seen, log } = begin(answering(makePart(0), makePart(0, { error }), makePart(1, { isLast: false }), makePart(1, { error })));
    const refused = "expected a single response, got 2 from model 'm' version 3";
    expect(seen()).toEqual([
      ['last answer', 'complete'],
      ['answer', `error INTERNAL ${refused}`],
    ]);
    expect(log.lines).toEqual([`error ${refused}`]);
  });

  it('takes an answer and its last flag apart from a model that answers once', () => {
    const { seen, log } = begin(answering(makePart(0, { isLast: false }), makePart(0), makePart(1), makePart(1)));
    expect(seen()).toEqual([
      ['answer', 'complete'],
      ['last answer', 'complete'],
    ]);
    expect(log.lines).toEqual([]);
  });

  describe('an error of a decoupled model', () => {
    const error = new InferError('INVALID_ARGUMENT', 'bad row');
    const outputs = makeRequest().inputs;

    it('goes in its place while others may follow', () => {
      const answers: InferResponse[] = [];
      const bad = makePart(0, { isLast: false, error, outputs });
      const parts = [makePart(0, { isLast: false, outputs }), bad, makePart(0, { isLast: false, outputs }), makePart(1)];
      const { events, counters } = begin(answering(...parts), { decoupled: true, onAnswer: (answer) => answers.push(answer) });
      expect(answers.map((answer) => answer.error?.message ?? [...answer.outputs.keys()])).toEqual([['IN'], 'bad row', ['IN']]);
      expect(answers[1]).toMatchObject({ isLast: false, error: { code: 'INVALID_ARGUMENT', reason: 'BACKEND', cause: error } });
      expect(answers[1]?.outputs.size).toBe(0);
      expect([counters.out, counters.failed]).toEqual([2, 0]);
      expect(events.flatMap((event) => (event.kind === 'response-made' ? `${event.index} ${event.outcome}` : []))).toEqual([
        '0 success',
        '1 fail',
        '2 success',
        '0 empty',
        '3 empty',
      ]);
    });

    it('ends its request when it is the last', () => {
      const { seen, counters } = begin(answering(makePart(0, { isLast: false }), makePart(0, { error }), makePart(1)), { decoupled: true });
      expect(seen()).toEqual([['answer', 'error INVALID_ARGUMENT bad row'], ['complete']]);
      expect([counters.out, counters.failed]).toEqual([1, 1]);
    });
  });

  it('ends a request of a model that answers once with any error, and tells the instance', () => {
    const stopped: number[] = [];
    const error = new InferError('INVALID_ARGUMENT', 'bad row');
    const instance = new HandInstance();
    const { seen } = begin(instance);
    instance.last.batch.onCancelled = (of) => stopped.push(of);
    instance.last.answer(makePart(0, { isLast: false, error }));
    instance.last.finish();
    expect(seen()).toEqual([['error INVALID_ARGUMENT bad row'], ['last answer', 'complete']]);
    expect(stopped).toEqual([0]);
  });

  it.each([
    { isLast: false, told: [0] },
    { isLast: true, told: [] },
  ])('tells the instance to stop when it answers again, unless it has done so: $isLast', ({ isLast, told }) => {
    const stopped: number[] = [];
    const instance = new HandInstance();
    begin(instance);
    instance.last.batch.onCancelled = (of) => stopped.push(of);
    instance.last.answer(makePart(0, { isLast: false }));
    instance.last.answer(makePart(0, { isLast, outputs: makeRequest().inputs }));
    expect(stopped).toEqual(told);
  });

  it('reports what became of each request of a decoupled model', () => {
    const instance = new HandInstance();
    const { callers, events } = begin(instance, { callers: 4, decoupled: true });
    callers[0]?.caller.unsubscribe();
    instance.last.answer(makePart(1, { outputs: makeRequest().inputs }));
    instance.last.answer(makePart(2));
    instance.last.fail(new Error('boom'));
    expect(events.flatMap((event) => (event.kind === 'response-made' ? event.outcome : []))).toEqual([
      'cancel',
      'success',
      'empty',
      'fail',
    ]);
  });

  it('tells the instance who of a batch has gone, once, and by the end of the run that all have', () => {
    const instance = new HandInstance();
    const stopped: number[] = [];
    const { callers } = begin(instance, { callers: 3 });
    instance.last.batch.onCancelled = (of) => stopped.push(of);
    callers[2]?.caller.unsubscribe();
    callers[2]?.caller.unsubscribe();
    callers[0]?.caller.unsubscribe();
    expect([stopped, instance.last.isCancelled]).toEqual([[2, 0], false]);
    callers[1]?.caller.unsubscribe();
    expect([stopped, instance.last.isCancelled]).toEqual([[2, 0], true]);
  });

  describe('an instance that takes another batch before the end', () => {
    const outputs = makeRequest().inputs;
    const answer = makePart(0, { isLast: false, outputs });

    it('is given back once, and the run goes on', () => {
      const instance = new HandInstance();
      const { lease, seen, counters, ends } = begin(instance, { callers: 1, decoupled: true });
      instance.last.answer(answer);
      instance.last.batch.releaseInstance?.();
      instance.last.batch.releaseInstance?.();
      expect([lease.released, counters.batches, counters.released, counters.running]).toEqual([1, 0, 1, 1]);
      instance.last.answer(answer);
      instance.last.complete();
      instance.last.batch.releaseInstance?.();
      expect([lease.released, counters.batches, counters.released, counters.running]).toEqual([1, 0, 0, 0]);
      expect([seen(), ends]).toEqual([[['answer', 'answer', 'complete']], ['complete']]);
    });

    it('is given back once though it is told so too late', () => {
      const instance = new HandInstance();
      const { lease, counters } = begin(instance, { callers: 1, decoupled: true });
      instance.last.complete();
      instance.last.batch.releaseInstance?.();
      expect([lease.released, counters.batches, counters.released]).toEqual([1, 0, 0]);
    });

    it.each([
      { mayEndEarly: true, atRelease: ['step', 'lease'], atEnd: ['step', 'lease'] },
      { mayEndEarly: false, atRelease: ['lease'], atEnd: ['lease', 'step'] },
    ])('lets sequences go on that leave nothing behind: $mayEndEarly', ({ mayEndEarly, atRelease, atEnd }) => {
      const time = new VirtualTime();
      const instance = new HandInstance();
      const told: string[] = [];
      const { call, caller } = makeCaller(0, time);
      call.step = {
        isIterative: false,
        mayEndEarly,
        request: () => call.request,
        take: (part) => part,
        reschedule: () => {},
        released: () => told.push('step'),
      };
      const lease = { ...makeLease(instance), release: () => told.push('lease') };
      const config = { sink: () => {}, scheduler: time, log: makeLog(), counters: noRunCounters() };
      runBatch({ spec: makeSpec({ decoupled: true }), ...config })({ items: [call], lease }).subscribe();
      instance.last.batch.releaseInstance?.();
      expect(told).toEqual(atRelease);
      const stopped: number[] = [];
      const onCancelled = (of: number) => stopped.push(of);
      instance.last.batch.onCancelled = onCancelled;
      caller.unsubscribe();
      // What leaves something behind runs to its end, and hears that nobody waits.
      expect([instance.last.isCancelled, stopped]).toEqual(mayEndEarly ? [true, []] : [false, [0]]);
      instance.last.complete();
      expect(told).toEqual(atEnd);
    });

    it('fails by the error of its run who waits, though it is lent to others', () => {
      const instance = new HandInstance();
      const { seen, lease } = begin(instance, { callers: 1, decoupled: true });
      instance.last.batch.releaseInstance?.();
      instance.last.fail(new InferError('UNAVAILABLE', 'the worker has ended'));
      expect([seen(), lease.released]).toEqual([[['error UNAVAILABLE the worker has ended']], 1]);
    });

    it('is told when the last caller goes', () => {
      const instance = new HandInstance();
      const { callers, lease } = begin(instance, { callers: 1, decoupled: true });
      instance.last.batch.releaseInstance?.();
      callers[0]?.caller.unsubscribe();
      expect([instance.last.isCancelled, lease.released]).toEqual([true, 1]);
    });

    it('keeps a batch past the bound of those that go on, until one of them ends', () => {
      const time = new VirtualTime();
      const counters = noRunCounters();
      const run = runBatch({ spec: makeSpec({ decoupled: true }), sink: () => {}, scheduler: time, log: makeLog(), counters });
      const instance = new HandInstance(2 * releasedLimit);
      // One that has not asked takes no room, and gives none back.
      const other = new HandInstance();
      run({ items: [makeCaller(0, time).call], lease: makeLease(other) }).subscribe();
      other.last.complete();
      const leases = Array.from({ length: releasedLimit + 3 }, (_, n) => {
        const lease = makeLease(instance);
        run({ items: [makeCaller(n, time).call], lease }).subscribe();
        instance.last.batch.releaseInstance?.();
        return lease;
      });
      const held = () => leases.flatMap(({ released }, n) => (released === 0 ? [n] : []));
      expect([held(), counters.released]).toEqual([[releasedLimit, releasedLimit + 1, releasedLimit + 2], releasedLimit]);
      // One that waits and ends takes nobody's room.
      instance.runs[releasedLimit]?.complete();
      expect([held(), counters.released]).toEqual([[releasedLimit + 1, releasedLimit + 2], releasedLimit]);
      instance.runs[7]?.complete();
      expect([held(), counters.released]).toEqual([[releasedLimit + 2], releasedLimit]);
      for (const { complete } of instance.runs) complete();
      expect([held(), counters.released, counters.batches]).toEqual([[], 0, 0]);
      expect(leases.filter(({ released }) => released !== 1)).toEqual([]);
      const lease = makeLease(instance);
      run({ items: [makeCaller(0, time).call], lease }).subscribe();
      instance.last.batch.releaseInstance?.();
      expect(lease.released).toBe(1);
    });
  });
});
