import { finalize, Observable, of, ReplaySubject } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { Call } from '../../../src/operators/call.ts';
import { Gate } from '../../../src/operators/gate.ts';
import { sequenceBatching } from '../../../src/operators/sequences/sequence-batching.ts';
import type { Granted } from '../../../src/streams/flow/buffer-when-free.ts';
import { noBufferCounters } from '../../../src/streams/flow/buffer-when-free.ts';
import type { Lease } from '../../../src/streams/flow/leases.ts';
import type { Instance } from '../../../src/streams/inference/backend.ts';
import type { SequenceStrategy } from '../../../src/streams/inference/model-spec.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { operatorLaws } from '../../contracts/operator-laws.ts';
import { instantInstance, makeLog, makePart, makeRequest, makeSpec } from '../../support/model.ts';
import { SequenceModel, type SequenceModelFields } from '../../support/sequence-model.ts';
import { makeSequenceBatching } from '../../support/sequences.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const direct: SequenceStrategy = { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 };
const oldest: SequenceStrategy = {
  kind: 'oldest',
  maxCandidateSequences: 1,
  preferredBatchSizes: [1],
  maxQueueDelayMs: 0,
  preserveOrdering: false,
};

/** Every call is a sequence of its own; one instance with one slot comes back as often as the test says. */
const laws = (strategy: SequenceStrategy): void =>
  operatorLaws<Call, Granted<Call, Instance>>({
    name: `sequenceBatching, ${strategy.kind}`,
    limit: 100,
    create: (scheduler, limit) => {
      const life = new ReplaySubject<Instance>(1);
      const lost: number[] = [];
      const away: Lease<Instance>[] = [];
      let served = 0;
      let isHeld = false;
      const makeCall = (n: number): Call => {
        const calls: Call[] = [];
        new Observable<InferResponse>((caller) => {
          const request = makeRequest({ id: `${n}`, sequenceId: BigInt(n + 1), sequenceStart: true, sequenceEnd: true });
          calls.push(new Call({ request, rows: 1, shapeKey: '', arrivedMs: scheduler.now(), caller, holder: { cancel: () => {} } }));
        }).subscribe({ error: () => lost.push(n) });
        const [call] = calls;
        if (call === undefined) throw new Error('no call was made');
        return call;
      };
      const giveBack = (): void => {
        const lease = served > 0 ? away.pop() : undefined;
        if (lease === undefined) return;
        isHeld = true;
        lease.release();
      };
      return {
        operator: sequenceBatching({
          spec: makeSpec({ maxQueueSize: limit, maxBatchSize: 1 }),
          batching: makeSequenceBatching({ strategy }),
          lives$: of(life.pipe(finalize(() => (isHeld = false)))),
          scheduler,
          log: makeLog(),
          counters: noBufferCounters(),
        }),
        item: makeCall,
        numbersOf: ({ items, lease }) => {
          served--;
          isHeld = false;
          away.push(lease);
          for (const call of items) call.step?.released();
          giveBack();
          return items.map(({ request }) => Number(request.id));
        },
        out: [],
        lost,
        serve: (count) => {
          const isFirst = served === 0 && away.length === 0 && !isHeld;
          served += count;
          if (isFirst) {
            isHeld = true;
            life.next(instantInstance);
          } else giveBack();
        },
        held: () => (isHeld ? 1 : 0),
      };
    },
  });

laws(direct);
laws(oldest);

describe('sequenceBatching without instances', () => {
  it.each([direct, oldest])('errors when calls wait for instances that will not come, and not before ($kind)', (strategy) => {
    const time = new VirtualTime();
    const gate = new Gate({ spec: makeSpec(), scheduler: time });
    const ends: unknown[] = [];
    gate.calls$
      .pipe(
        sequenceBatching({
          spec: makeSpec(),
          batching: makeSequenceBatching({ strategy }),
          lives$: of(of(instantInstance)),
          scheduler: time,
          log: makeLog(),
          counters: noBufferCounters(),
        }),
      )
      .subscribe({ error: (error) => ends.push(error) });
    expect(ends).toEqual([]);
    const asked: string[] = [];
    gate.infer(makeRequest({ sequenceId: 1n, sequenceStart: true })).subscribe({ error: (error) => asked.push(error.code) });
    expect(ends).toEqual([new Error('1 wait and nobody is left to take them')]);
    expect(asked).toEqual(['UNAVAILABLE']);
  });
});

describe.each<[string, SequenceStrategy]>([
  ['direct', direct],
  ['oldest', { ...oldest, maxCandidateSequences: 2, preferredBatchSizes: [2] }],
])('sequenceBatching, %s', (_, strategy) => {
  let model: SequenceModel;

  const start = (fields: SequenceModelFields = {}): SequenceModel => {
    model = new SequenceModel({ ...fields, spec: { maxBatchSize: 2, ...fields.spec }, batching: { strategy, ...fields.batching } });
    return model;
  };

  afterEach(() => expect(model.stop()).toBe(0));

  it('runs the requests of a burst in their order, one at a time', () => {
    const { time } = start();
    const asked = ['S', 'M', 'M', 'E'].map((flags, n) => model.ask(5n, flags === 'S' ? 'S' : flags === 'E' ? 'E' : 'M', `a${n}`));
    expect(model.counts()).toBe('queued 4 running 0');
    time.advance(0);
    expect(model.counts()).toBe('queued 3 running 1');
    for (let n = 0; n < 4; n++) model.finish();
    expect(model.batches()).toEqual(['a0', 'a1', 'a2', 'a3']);
    expect(asked.map(({ state }) => state)).toEqual(['done', 'done', 'done', 'done']);
    expect(model.counts()).toBe('queued 0 running 0');
  });

  it('refuses what has no sequence', () => {
    start();
    expect(model.ask(0n, 'S').state).toMatch(/^INVALID_ARGUMENT .* must specify a non-zero or non-empty correlation ID$/);
    expect(model.ask(5n, 'M').state).toMatch(/sequence 5 to model 'm' must specify the START flag on the first request of the sequence$/);
    expect(model.ask(5n, 'E').state).toMatch(/must specify the START flag/);
    expect(model.ask(5n, 'M').error?.reason).toBe('REFUSED');
    expect(model.counts()).toBe('queued 0 running 0');
  });

  it('frees the id with END, while the sequence still runs', () => {
    const { time } = start();
    model.ask(5n, 'S', 'a0');
    model.ask(5n, 'E', 'a1');
    expect(model.ask(5n, 'M', 'lost').state).toMatch(/must specify the START flag/);
    model.ask(5n, 'SE', 'b0');
    time.advance(0);
    expect(model.batches()).toEqual(['a0,b0']);
    model.finish();
    expect(model.batches()).toEqual(['a0,b0', 'a1']);
  });

  it('goes on in the same slot with a START on a running sequence, and warns', () => {
    const { time } = start();
    model.ask(5n, 'S', 'a0');
    time.advance(0);
    model.ask(5n, 'S', 'a1');
    expect(model.log.lines).toEqual([
      "warning sequence 5 for model 'm' has a conflict. The previous sequence did not end before this sequence start. Previous sequence will be terminated early.",
    ]);
    expect(model.batches()).toEqual(['a0']);
    model.finish();
    expect(model.batches()).toEqual(['a0', 'a1']);
  });

  it('gives slots in the order of the backlog', () => {
    const { time } = start();
    for (const id of [1n, 2n, 3n, 4n]) model.ask(id, 'S', `${id}`);
    model.ask(3n, 'M', '3m');
    time.advance(0);
    expect(model.batches()).toEqual(['1,2']);
    model.finish();
    expect(model.batches()).toEqual(['1,2']);
    model.ask(1n, 'E', '1e');
    time.advance(0);
    expect(model.batches()).toEqual(['1,2', '1e']);
    model.finish();
    expect(model.batches()).toEqual(['1,2', '1e', '3']);
    model.finish();
    expect(model.batches().at(-1)).toBe('3m');
    expect(model.counts()).toBe('queued 1 running 1');
  });

  it('bounds what waits in slots and in the backlog together', () => {
    const { time } = start({ spec: { maxQueueSize: 3 } });
    model.ask(1n, 'S', '1');
    time.advance(0);
    model.ask(1n, 'M');
    model.ask(2n, 'S');
    model.ask(3n, 'S');
    expect(model.ask(3n, 'M', 'x')).toMatchObject({
      state: 'UNAVAILABLE [request id: x] Exceeds maximum queue size',
      error: { reason: 'REJECTED' },
    });
    expect(model.counts()).toBe('queued 3 running 1');
  });

  it('does not count what waits only for the end of the tick against the next one', () => {
    start({ spec: { maxQueueSize: 1 }, instances: 2 });
    expect([model.ask(1n, 'S'), model.ask(2n, 'S')].map(({ state }) => state)).toEqual(['waits', 'waits']);
  });

  it('takes the rest of a sequence with a waiting request whose caller has gone', () => {
    const { time } = start();
    const asked = [model.ask(5n, 'S', 'a0')];
    time.advance(0);
    for (const n of [1, 2, 3, 4]) asked.push(model.ask(5n, 'M', `a${n}`));
    asked[2]?.caller.unsubscribe();
    expect(asked.map(({ state }) => state)).toEqual(['waits', 'waits', 'waits', 'CANCELLED ', 'CANCELLED ']);
    expect(asked[3]?.error?.reason).toBe('CANCELED');
    expect(model.counts()).toBe('queued 1 running 1');
    expect(model.ask(5n, 'M').state).toMatch(/must specify the START flag on the first request of the sequence$/);
    model.finish();
    model.finish();
    expect(model.batches()).toEqual(['a0', 'a1']);
  });

  it('frees the slot when the front of a sequence is cancelled', () => {
    const { time } = start();
    const front = model.ask(1n, 'S');
    const rest = model.ask(1n, 'M');
    model.ask(2n, 'S', '2');
    model.ask(3n, 'S', '3');
    front.caller.unsubscribe();
    expect(rest.state).toBe('CANCELLED ');
    time.advance(0);
    expect(model.batches()[0]?.split(',').sort()).toEqual(['2', '3']);
  });

  it('cancels a sequence in the backlog as a whole', () => {
    const { time } = start();
    for (const id of [1n, 2n]) model.ask(id, 'S', `${id}`);
    const asked = [model.ask(3n, 'S'), model.ask(3n, 'M'), model.ask(3n, 'E')];
    asked[1]?.caller.unsubscribe();
    expect(asked.map(({ state }) => state)).toEqual(['CANCELLED ', 'waits', 'CANCELLED ']);
    expect(model.counts()).toBe('queued 2 running 0');
    model.ask(3n, 'SE', '3');
    time.advance(0);
    model.finish();
    model.ask(1n, 'E', '1e');
    time.advance(0);
    model.finish();
    expect(model.batches().at(-1)).toBe('3');
  });

  it('lets a step run to its end when its caller has gone', () => {
    const { time } = start();
    const asked = model.ask(5n, 'S', 'a0');
    time.advance(0);
    asked.caller.unsubscribe();
    expect(model.instance().last.isCancelled).toBe(false);
    model.ask(5n, 'M', 'a1');
    model.finish();
    expect(model.batches()).toEqual(['a0', 'a1']);
  });

  it('ends the whole sequence in the backlog at the earliest of its deadlines', () => {
    const { time } = start();
    for (const id of [1n, 2n]) model.ask(id, 'S');
    const asked = [
      model.ask(3n, 'S', 'x', { timeoutMicroseconds: 9000n }),
      model.ask(3n, 'M', 'y', { timeoutMicroseconds: 2500n }),
      model.ask(3n, 'M'),
    ];
    time.advance(2);
    expect(asked[0]?.state).toBe('waits');
    time.advance(0.5);
    const expired = 'UNAVAILABLE timeout of the corresponding sequence has been expired';
    expect(asked.map(({ state }) => state)).toEqual([expired, expired, expired]);
    expect(asked[0]?.error?.reason).toBe('REJECTED');
    expect(model.ask(3n, 'M').state).toMatch(/must specify the START flag on the first request of the sequence$/);
    expect(model.ask(3n, 'S').state).toBe('waits');
    expect(model.counts()).toBe('queued 1 running 2');
  });

  it('has no deadlines in a slot', () => {
    const { time } = start();
    model.ask(1n, 'S', '', { timeoutMicroseconds: 10n });
    const waiting = model.ask(1n, 'M', '', { timeoutMicroseconds: 10n });
    time.advance(5);
    expect(waiting.state).toBe('waits');
  });

  it('forgets a deadline once the sequence has a slot', () => {
    const { time } = start();
    for (const id of [1n, 2n]) model.ask(id, 'SE');
    const asked = model.ask(3n, 'SE', '3', { timeoutMicroseconds: 2000n });
    time.advance(0);
    model.finish();
    time.advance(5);
    expect(asked.state).toBe('waits');
    model.finish();
    expect(asked.state).toBe('done');
  });

  it('fails the sequences of an instance that dies, and goes on with those of the backlog on the next one', () => {
    const { time } = start();
    const running = model.ask(1n, 'S', '1');
    time.advance(0);
    const waiting = [model.ask(1n, 'M'), model.ask(2n, 'S')];
    const silent = model.ask(3n, 'SE', '3');
    model.lives[0]?.error(new Error('out of luck'));
    expect(running).toMatchObject({ error: { code: 'UNAVAILABLE', reason: 'BACKEND' } });
    expect(waiting.map(({ state }) => state)).toEqual([
      "UNAVAILABLE sequence 1 of model 'm' has ended: the instance that ran it has ended",
      "UNAVAILABLE sequence 2 of model 'm' has ended: the instance that ran it has ended",
    ]);
    expect(waiting.map(({ error }) => [error?.reason, error?.cause])).toEqual(Array(2).fill(['BACKEND', new Error('out of luck')]));
    expect(silent.state).toBe('waits');
    expect(model.ask(2n, 'M').state).toMatch(
      /must specify the START flag .*: the instance that ran the sequence has ended, and the sequence with it$/,
    );
    const next = model.ask(1n, 'S', 'again');
    expect(next.state).toBe('waits');
    time.advance(200);
    model.rise(1);
    expect(model.batches(1)).toEqual(['3,again']);
    model.finish(1);
    expect([silent.state, next.state]).toEqual(['done', 'done']);
    expect(model.counts()).toBe('queued 0 running 0');
  });

  it('gives a sequence of the backlog no slot of an instance that is dying', () => {
    const single = strategy.kind === 'oldest' ? oldest : direct;
    const { time } = start({ spec: { maxBatchSize: 1 }, batching: { strategy: single, maxIdleMs: 20 } });
    model.ask(1n, 'S');
    time.advance(0);
    const waiting = model.ask(2n, 'SE', '2');
    // The first one ends with its step.
    time.advance(20);
    model.lives[0]?.complete();
    expect(waiting.state).toBe('waits');
    expect(model.counts()).toBe('queued 1 running 0');
    time.advance(200);
    model.rise(1);
    expect(model.batches(1)).toEqual(['2']);
  });

  it('lets sequences end while the model drains, and begins none', async () => {
    const { time } = start();
    model.ask(1n, 'S', '1');
    time.advance(0);
    model.finish();
    let isDrained = false;
    const drained = model.model.drain().then(() => {
      isDrained = true;
    });
    expect(model.ask(2n, 'S')).toMatchObject({
      state: expect.stringMatching(/^UNAVAILABLE Server is stopping/),
      error: { reason: 'REFUSED' },
    });
    expect(model.ask(2n, 'M').state).toMatch(/must specify the START flag/);
    const step = model.ask(1n, 'M', '1m');
    time.advance(0);
    model.finish();
    expect(step.state).toBe('done');
    await Promise.resolve();
    expect(isDrained).toBe(false);
    const last = model.ask(1n, 'E', '1e');
    time.advance(0);
    model.finish();
    await drained;
    expect(last.state).toBe('done');
    expect(model.ask(1n, 'S').state).toMatch(/Server is stopping/);
  });

  it('drains when the last sequence has been idle for too long', async () => {
    const { time } = start({ batching: { maxIdleMs: 20 } });
    model.ask(1n, 'S');
    time.advance(0);
    model.finish();
    const drained = model.model.drain();
    time.advance(20);
    await drained;
  });

  it('fails everything that waits when the model ends', () => {
    const { time } = start();
    const asked = [model.ask(1n, 'S', 'x')];
    time.advance(0);
    asked.push(model.ask(1n, 'M', 'x'), model.ask(2n, 'S', 'x'), model.ask(3n, 'S', 'x'), model.ask(3n, 'M', 'x'));
    model.running.unsubscribe();
    const stopping = 'UNAVAILABLE [request id: x] Server is stopping, scheduler for model has stopped accepting new inference requests';
    expect(asked.map(({ state }) => state).slice(1)).toEqual([stopping, stopping, stopping, stopping]);
    expect(asked[0]?.state).toMatch(/^UNAVAILABLE/);
    expect(model.counts()).toBe('queued 0 running 0');
  });

  it('asks the rate limiter for each batch', () => {
    const { time } = start({ instances: 2, sharesResource: true });
    for (const id of [1n, 2n]) model.ask(id, 'S', `${id}`);
    time.advance(0);
    expect([model.batches(0), model.batches(1)]).toEqual([['1'], []]);
    model.ask(2n, 'M', '2m');
    model.finish(0);
    expect([model.batches(0), model.batches(1)]).toEqual([['1'], ['2']]);
    model.ask(1n, 'M', '1m');
    time.advance(0);
    expect(model.batches(0)).toEqual(['1']);
    model.lives[1]?.error(new Error('out of luck'));
    expect(model.batches(0)).toEqual(['1', '1m']);
  });

  it('gives back what the rate limiter grants once nothing waits any more', () => {
    const { time } = start({ instances: 2, sharesResource: true });
    model.ask(1n, 'S', '1');
    time.advance(0);
    const asked = model.ask(2n, 'S');
    time.advance(0);
    asked.caller.unsubscribe();
    time.advance(0);
    model.finish(0);
    model.ask(1n, 'M', '1m');
    time.advance(0);
    expect([model.batches(0), model.batches(1)]).toEqual([['1', '1m'], []]);
  });

  it('survives 20,000 rounds in one call', () => {
    const answers: string[] = [];
    const { time } = start({ spec: { maxQueueSize: 20_001 } });
    for (let n = 0; n < 20_000; n++) model.ask(5n, n === 0 ? 'S' : 'M', `${n}`);
    const instance = model.instance();
    const run = instance.run.bind(instance);
    instance.run = (batch) => {
      answers.push(batch.requests.map(({ id }) => id).join());
      return of(makePart(0));
    };
    time.advance(0);
    instance.run = run;
    expect(answers.length).toBe(20_000);
    expect(answers.at(-1)).toBe('19999');
    expect(model.counts()).toBe('queued 0 running 0');
  });
});
