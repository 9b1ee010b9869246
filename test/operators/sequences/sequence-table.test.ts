import { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Call } from '../../../src/operators/call.ts';
import { OpenSequences } from '../../../src/operators/sequences/open-sequences.ts';
import { SequenceSlot, type SlotBatcher, SlotKind } from '../../../src/operators/sequences/sequence-slot.ts';
import { SequenceTable } from '../../../src/operators/sequences/sequence-table.ts';
import { noBufferCounters } from '../../../src/streams/flow/buffer-when-free.ts';
import type { InferError } from '../../../src/streams/inference/error.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { makeLog, makeRequest, makeSpec } from '../../support/model.ts';
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
