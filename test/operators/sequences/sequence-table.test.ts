import { setImmediate } from 'node:timers/promises';
import { NEVER, Observable, Subject } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { Call } from '../../../src/operators/call.ts';
import { Gate } from '../../../src/operators/gate.ts';
import { OpenSequences } from '../../../src/operators/sequences/open-sequences.ts';
import { sequenceBatching } from '../../../src/operators/sequences/sequence-batching.ts';
import { SequenceSlot, type SlotBatcher, SlotKind } from '../../../src/operators/sequences/sequence-slot.ts';
import { SequenceTable } from '../../../src/operators/sequences/sequence-table.ts';
import { noBufferCounters } from '../../../src/streams/flow/buffer-when-free.ts';
import type { InferError } from '../../../src/streams/inference/error.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { makeLog, makeRequest, makeSpec } from '../../support/model.ts';
import { SequenceModel, type SequenceModelFields } from '../../support/sequence-model.ts';
import { makeSequenceBatching } from '../../support/sequences.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const start = () => {
  const time = new VirtualTime();
  const open = new OpenSequences();
  const batching = makeSequenceBatching();
  const spec = makeSpec({ sequenceBatching: batching });
  const counters = noBufferCounters();
  const errors: string[] = [];
  const table = new SequenceTable({
    spec,
    batching,
    scheduler: time,
    log: makeLog(),
    counters,
    open,
    isStopping: () => false,
    onChange: () => {},
  });
  const kind = new SlotKind(spec, table);
  /** An instance with one slot that runs nothing by itself. */
  const addInstance = (order: number): SlotBatcher => {
    const slots: SequenceSlot[] = [];
    const nothing = (): void => {};
    const batcher: SlotBatcher = { order, slots, isClosed: false, offer: nothing, withdraw: nothing, hurry: nothing, close: nothing };
    slots.push(new SequenceSlot(0, batcher, kind));
    table.addSlots(batcher);
    return batcher;
  };
  const ask = (sequenceId: bigint, fields = {}): void => {
    new Observable<InferResponse>((caller) => {
      const request = makeRequest({ sequenceId, sequenceStart: true, ...fields });
      table.arrive(new Call({ request, rows: 1, shapeKey: '', arrivedMs: time.now(), caller, holder: { cancel: () => {} } }));
    }).subscribe({ error: (error: InferError) => errors.push(error.code) });
  };
  return { time, table, open, counters, errors, addInstance, ask };
};

describe('SequenceTable', () => {
  it('keeps nothing of an instance that has gone, and everything of the others', () => {
    const { table, addInstance } = start();
    const batchers = [0, 1, 2].map(addInstance);
    const [first, second] = batchers;
    if (first === undefined || second === undefined) throw new Error('none');
    table.removeSlots(second);
    expect(table.batchers).toEqual([first, batchers[2]]);
    table.removeSlots(second);
    table.removeSlots(first);
    expect(table.batchers).toEqual([batchers[2]]);
  });

  it('tells what waits in slots from what waits for one, and is empty when nothing waits or runs', () => {
    const { table, addInstance, ask, counters } = start();
    const [slot] = addInstance(0).slots;
    if (slot === undefined) throw new Error('none');
    expect(table.isEmpty).toBe(true);
    ask(1n);
    ask(2n);
    ask(2n, { sequenceStart: false });
    expect([counters.queued, table.queuedInSlots, table.backlog.requests, table.isEmpty]).toEqual([3, 1, 2, false]);
    table.begin(slot);
    expect([counters.queued, table.queuedInSlots, table.backlog.requests]).toEqual([2, 0, 2]);
    ask(1n, { sequenceStart: false });
    expect([counters.queued, table.queuedInSlots]).toEqual([3, 1]);
  });

  it('is not empty while as many wait as run', () => {
    const { table, addInstance, ask } = start();
    const [slot] = addInstance(0).slots;
    ask(1n);
    if (slot !== undefined) table.begin(slot);
    ask(1n, { sequenceStart: false });
    expect(table.isEmpty).toBe(false);
  });

  it('has no sequence open, no timer and nothing waiting once it is closed', async () => {
    const { time, table, open, counters, errors, addInstance, ask } = start();
    addInstance(0);
    for (const id of [1n, 2n, 3n]) ask(id);
    table.close();
    expect([errors, counters.queued, counters.forgotten, time.pending]).toEqual([['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE'], 0, 3, 0]);
    await open.whenNone();
  });
});

describe('sequences that end in other ways than by END', () => {
  const direct = { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 } as const;
  let model: SequenceModel;

  const startModel = (fields: SequenceModelFields = {}): SequenceModel => {
    model = new SequenceModel({ ...fields, spec: { maxBatchSize: 2, ...fields.spec }, batching: { strategy: direct, ...fields.batching } });
    return model;
  };

  afterEach(() => expect(model.stop()).toBe(0));

  const backlog = (): number | undefined => model.model.graph().queues?.find(({ name }) => name === 'backlog')?.queued;

  it('count no more in the backlog', () => {
    const { time } = startModel();
    for (const id of [1n, 2n, 3n, 4n]) model.ask(id, 'S');
    const asked = model.ask(3n, 'M');
    model.ask(4n, 'M', '', { timeoutMicroseconds: 2000n });
    expect(backlog()).toBe(4);
    asked.caller.unsubscribe();
    expect(backlog()).toBe(2);
    time.advance(2);
    expect(backlog()).toBe(0);
  });

  it('are not counted twice by callers who go while their instance dies', () => {
    const { time } = startModel();
    const running = model.ask(1n, 'S');
    time.advance(0);
    const waiting = [model.ask(1n, 'M'), model.ask(2n, 'S')];
    running.caller.add(() => {
      for (const { caller } of waiting) caller.unsubscribe();
    });
    model.lives[0]?.error(new Error('out of luck'));
    expect(waiting.map(({ state }) => state)).toEqual(['waits', 'waits']);
    expect(model.counts()).toBe('queued 0 running 0');
  });

  it('are open to nobody who drains, each once', async () => {
    const { time } = startModel();
    model.ask(1n, 'S');
    time.advance(0);
    model.ask(1n, 'E');
    model.lives[0]?.error(new Error('out of luck'));
    time.advance(200);
    model.rise(1);
    model.ask(5n, 'S');
    let isDrained = false;
    const drained = model.model.drain().then(() => {
      isDrained = true;
    });
    time.advance(0);
    model.finish(1);
    await setImmediate();
    expect(isDrained).toBe(false);
    model.ask(5n, 'E');
    time.advance(0);
    model.finish(1);
    await drained;
  });

  it('wait until enough of them have no slot, where that alone is asked for', () => {
    const { time } = startModel({ spec: { maxBatchSize: 1 }, hold: { holdUntilBacklogged: 1 } });
    model.ask(1n, 'S', '1');
    time.advance(0);
    expect(model.batches()).toEqual([]);
    model.ask(2n, 'S');
    time.advance(0);
    expect(model.batches()).toEqual(['1']);
  });

  it('may let go what waits for enough in the slots', () => {
    const { time } = startModel({ spec: { maxBatchSize: 1 }, hold: { holdUntilQueued: 2 } });
    const first = model.ask(1n, 'S');
    for (const flags of ['S', 'M'] as const) model.ask(2n, flags, flags);
    time.advance(0);
    expect(model.batches()).toEqual([]);
    first.caller.unsubscribe();
    expect(model.batches()).toEqual(['S']);
  });
});

describe('a source of sequences that has completed', () => {
  it.each([
    ['expire', 2, false],
    ['are cancelled', 0, true],
  ])('completes when those that wait %s', (_, ms, isCancelled) => {
    const time = new VirtualTime();
    const gate = new Gate({ spec: makeSpec(), scheduler: time });
    const ends: unknown[] = [];
    const source = new Subject<Call>();
    source
      .pipe(
        sequenceBatching({
          spec: makeSpec(),
          batching: makeSequenceBatching(),
          lives$: NEVER,
          scheduler: time,
          log: makeLog(),
          counters: noBufferCounters(),
        }),
      )
      .subscribe({ error: (error) => ends.push(error), complete: () => ends.push('complete') });
    gate.calls$.subscribe(source);
    const caller = gate
      .infer(makeRequest({ sequenceId: 1n, sequenceStart: true, timeoutMicroseconds: 2000n }))
      .subscribe({ error: () => {} });
    source.complete();
    expect(ends).toEqual([]);
    if (isCancelled) caller.unsubscribe();
    time.advance(ms);
    expect(ends).toEqual(['complete']);
  });
});
