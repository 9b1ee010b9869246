import { setImmediate } from 'node:timers/promises';
import { Observable, take } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { Call } from '../../../src/operators/call.ts';
import { Sequence } from '../../../src/operators/sequences/sequence.ts';
import { SequenceSlot, type SlotBatcher, SlotKind } from '../../../src/operators/sequences/sequence-slot.ts';
import type { SequenceBatching } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makePart, makeRequest, makeSpec } from '../../support/model.ts';
import { SequenceModel, type SequenceModelFields } from '../../support/sequence-model.ts';
import { makeSequenceBatching, makeState } from '../../support/sequences.ts';

const flag = (kind: 'START' | 'END') => ({ kind, name: kind, datatype: 'INT32', whenFalse: 0, whenTrue: 1 }) as const;
const controls = [flag('START'), flag('END'), { kind: 'CORRID', name: 'CORRID', datatype: 'UINT64' }] as const;

describe.each([
  ['direct', { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 }],
  ['oldest', { kind: 'oldest', maxCandidateSequences: 1, preferredBatchSizes: [1], maxQueueDelayMs: 0, preserveOrdering: false }],
] as const)('iterative sequences, %s', (_, strategy) => {
  let model: SequenceModel;

  const start = (fields: SequenceModelFields = {}): SequenceModel => {
    const batching = { strategy, isIterative: true, controls, ...fields.batching };
    model = new SequenceModel({ ...fields, spec: { maxBatchSize: 1, decoupled: true, ...fields.spec }, batching });
    return model;
  };

  afterEach(() => expect(model.stop()).toBe(0));

  const told = (): string => {
    const { inputs } = model.instance().last.batch.requests[0] ?? never();
    return ['START', 'END', 'CORRID'].map((name) => Number(tensorValues(inputs.get(name) ?? never())[0])).join();
  };

  const reschedule = (value?: number): void => {
    const outputs = value === undefined ? new Map() : new Map([['OUT', tensorFrom('UINT8', [1, 1], [value])]]);
    model.instance().last.answer(makePart(0, { outputs, isRescheduled: true }));
    model.instance().last.complete();
  };

  it('run the same request step by step, and end with an ordinary answer', () => {
    const { time } = start();
    const asked = model.ask(0n, 'M', 'a');
    const waiting = model.ask(0n, 'M', 'b');
    time.advance(0);
    expect(told()).toBe('1,0,1');
    reschedule(4);
    expect(told()).toBe('0,0,1');
    reschedule();
    expect(model.counts()).toBe('queued 1 running 1');
    expect(asked.answers.map(({ id, isLast, outputs }) => `${id} ${isLast} ${outputs.get('OUT')?.bytes[0]}`)).toEqual(['a false 4']);
    model.finish();
    expect([asked.state, asked.answers.length]).toEqual(['done', 2]);
    expect([model.batches(), told()]).toEqual([['a', 'a', 'a', 'b'], '1,0,2']);
    expect(waiting.state).toBe('waits');
  });

  it('keep a slot until the model has done with a request that starts and ends', () => {
    const { time } = start();
    const asked = model.ask(5n, 'SE', 'a');
    model.ask(5n, 'SE', 'b');
    time.advance(0);
    expect(told()).toBe('1,1,5');
    reschedule();
    expect(told()).toBe('0,0,5');
    reschedule();
    model.finish();
    expect(asked.state).toBe('done');
    expect(model.batches()).toEqual(['a', 'a', 'a', 'b']);
  });

  it('are over with the answer that ends them, whether or not the client said so', async () => {
    const { time } = start();
    model.ask(5n, 'S', 'a');
    model.ask(0n, 'M', 'b');
    time.advance(0);
    reschedule();
    model.finish();
    time.advance(0);
    model.finish();
    expect(model.batches()).toEqual(['a', 'a', 'b']);
    expect(model.ask(5n, 'M').state).toMatch(/must specify the START flag/);
    await model.model.drain();
  });

  it('carry their states from step to step', () => {
    const { time } = start({ batching: { states: [makeState()] } });
    const state = (): number[] => [...tensorValues(model.instance().last.batch.requests[0]?.inputs.get('STATE') ?? never())].map(Number);
    const step = (value: number): void => {
      const outputs = new Map([['STATE_OUT', tensorFrom('INT32', [1, 1], [value])]]);
      model.instance().last.answer(makePart(0, { outputs, isRescheduled: true }));
      model.instance().last.complete();
    };
    model.ask(0n, 'M');
    time.advance(0);
    expect(state()).toEqual([0]);
    step(3);
    expect(state()).toEqual([3]);
    step(4);
    expect(state()).toEqual([4]);
  });

  it('leave neither a timer nor a count where the server names them', async () => {
    const { time } = start({ instances: 2 });
    model.ask(5n, 'S', 'a');
    model.ask(0n, 'M', 'b');
    time.advance(0);
    const drained = model.model.drain().then(() => 'drained');
    model.instance(1).last.answer(makePart(0, { isRescheduled: true }));
    model.instance(1).last.complete();
    time.advance(0);
    model.finish(1);
    expect(await Promise.race([drained, setImmediate('waits')])).toBe('waits');
    model.finish(0);
    expect([await drained, time.pending]).toEqual(['drained', 0]);
  });

  it('are not idle while the model goes on with them', () => {
    const { time } = start({ batching: { maxIdleMs: 100 } });
    model.ask(5n, 'S', 'a');
    time.advance(60);
    reschedule();
    time.advance(60);
    expect(model.ask(5n, 'M').state).toBe('waits');
  });

  it('end when the caller goes', () => {
    const { time } = start();
    const asked = model.ask(0n, 'M', 'a');
    model.ask(0n, 'M', 'b');
    time.advance(0);
    model.instance().last.answer(makePart(0, { isRescheduled: true }));
    asked.caller.unsubscribe();
    model.instance().last.complete();
    expect(model.batches()).toEqual(['a', 'b']);
    expect(model.counts()).toBe('queued 0 running 1');
  });

  it('end when the caller goes at an answer in between', () => {
    const { time } = start();
    model.model
      .infer(makeRequest({ id: 'a' }))
      .pipe(take(1))
      .subscribe();
    model.ask(0n, 'M', 'b');
    time.advance(0);
    reschedule(4);
    expect([model.batches(), model.counts()]).toEqual([['a', 'b'], 'queued 0 running 1']);
  });

  it('end when the instance dies between two steps', () => {
    const { time } = start();
    const asked = model.ask(0n, 'M', 'a');
    time.advance(0);
    model.instance().last.answer(makePart(0, { isRescheduled: true }));
    model.lives[0]?.error(new Error('out of luck'));
    expect(asked.state).toBe("UNAVAILABLE sequence 1 of model 'm' has ended: the instance that ran it has ended");
    expect(model.counts()).toBe('queued 0 running 0');
  });

  it('end when the model ends between two steps', () => {
    const { time } = start();
    const asked = model.ask(0n, 'M', 'a');
    time.advance(0);
    model.instance().last.answer(makePart(0, { isRescheduled: true }));
    model.running.unsubscribe();
    expect(asked.state).toMatch(/^UNAVAILABLE .*Server is stopping/);
    expect(model.counts()).toBe('queued 0 running 0');
  });

  it('fail where the model may not ask for another step', () => {
    const { time } = start({ batching: { isIterative: false } });
    const asked = model.ask(5n, 'SE');
    time.advance(0);
    reschedule();
    expect(asked.state).toBe(
      'INVALID_ARGUMENT Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.',
    );
  });
});

describe('SequenceSlot', () => {
  const start = (fields: Partial<SequenceBatching> = {}) => {
    const told: string[] = [];
    const keeper = {
      cancelNext: (_: SequenceSlot, { request }: Call) => told.push(`cancel ${request.id}`),
      cancelWaiting: () => {},
      released: (_: SequenceSlot, { request }: Call, owner: Sequence, isRescheduled: boolean) =>
        told.push(`released ${request.id} of ${owner.id}${isRescheduled ? ' again' : ''}`),
    };
    const nothing = (): void => {};
    const batcher: SlotBatcher = {
      order: 0,
      slots: [],
      isClosed: false,
      offer: nothing,
      withdraw: nothing,
      hurry: nothing,
      close: nothing,
    };
    const slot = new SequenceSlot(3, batcher, new SlotKind(makeSpec({ sequenceBatching: makeSequenceBatching(fields) }), keeper));
    const callOf = (request: Partial<InferRequest>, shapeKey = 'own'): Call => {
      const calls: Call[] = [];
      new Observable<InferResponse>((caller) => {
        const holder = { cancel: () => {} };
        calls.push(new Call({ request: makeRequest({ id: 'a', ...request }), rows: 1, shapeKey, arrivedMs: 0, caller, holder }));
      }).subscribe();
      return calls[0] ?? never();
    };
    const sequence = (id: bigint, isInternal = false): Sequence => new Sequence(id, 0, isInternal, keeper);
    return { slot, told, callOf, sequence };
  };

  it('may end early where nothing stays behind for the next step', () => {
    expect(start().slot.mayEndEarly).toBe(true);
    expect(start({ states: [makeState()] }).slot.mayEndEarly).toBe(false);
    expect(start({ isIterative: true }).slot.mayEndEarly).toBe(false);
  });

  it('gives the request itself where the model wants nothing else', () => {
    const { slot, callOf, sequence } = start();
    const call = callOf({ sequenceId: 5n, sequenceStart: true });
    slot.put(call, sequence(5n));
    expect(slot.request()).toBe(call.request);
  });

  it('tells the model who a request without id is, and that it starts', () => {
    const { slot, callOf, sequence } = start({ isIterative: true });
    const call = callOf({ sequenceEnd: true });
    slot.put(call, sequence(9n, true));
    expect(slot.request()).toEqual({ ...call.request, sequenceId: 9n, sequenceStart: true, sequenceEnd: true });
    slot.begin();
    slot.released();
    slot.putAgain(call, sequence(9n, true));
    expect(slot.request()).toEqual({ ...call.request, sequenceId: 9n, sequenceStart: false, sequenceEnd: false });
  });

  it('runs a step again that neither starts nor ends, also where the request does', () => {
    const { slot, callOf, sequence } = start({ isIterative: true });
    for (const flags of [{ sequenceStart: true }, { sequenceEnd: true }, { sequenceStart: true, sequenceEnd: true }]) {
      const call = callOf({ sequenceId: 5n, ...flags });
      slot.putAgain(call, sequence(5n));
      expect(call.step === slot && call.holder === slot).toBe(true);
      expect(slot.request()).toEqual({ ...call.request, sequenceStart: false, sequenceEnd: false });
      slot.drop();
    }
  });

  it('adds the shapes of states to the key of a request, unless it starts: then they are the initial ones', () => {
    const { slot, callOf, sequence } = start({ states: [makeState({ dims: [-1] })] });
    const step = (values: number[]): void => {
      slot.request();
      slot.begin();
      slot.take(makePart(0, { outputs: new Map([['STATE_OUT', tensorFrom('INT32', [1, values.length], values)]]) }));
      slot.released();
    };
    const keyOf = (fields: Partial<InferRequest> = {}): string => {
      const call = callOf({ sequenceId: 5n, ...fields });
      slot.put(call, sequence(5n));
      return call.shapeKey;
    };
    const states = (): unknown => [...tensorValues(slot.request().inputs.get('STATE') ?? never())];
    expect(keyOf({ sequenceStart: true })).toBe('own');
    step([1]);
    expect(keyOf()).toBe('own');
    expect(states()).toEqual([1]);
    step([1, 2]);
    expect(keyOf()).toMatch(/^own\|./);
    expect(states()).toEqual([1, 2]);
    step([1, 2]);
    expect(keyOf({ sequenceStart: true })).toBe('own');
    expect(states()).toEqual([0]);
  });

  it('tells its keeper of a caller that goes while its call waits, not while it runs', () => {
    const { slot, told, callOf, sequence } = start();
    const call = callOf({ sequenceId: 5n });
    slot.put(call, sequence(5n));
    slot.cancel(call);
    slot.begin();
    slot.cancel(call);
    expect(told).toEqual(['cancel a']);
    slot.released();
    expect(told).toEqual(['cancel a', 'released a of 5']);
  });

  it('holds a call that is to run again for its keeper', () => {
    const { slot, told, callOf, sequence } = start({ isIterative: true });
    const call = callOf({});
    slot.put(call, sequence(1n, true));
    slot.begin();
    slot.reschedule();
    expect(call.holder).toBe(slot);
    slot.released();
    slot.put(call, sequence(1n, true));
    slot.begin();
    slot.released();
    expect(told).toEqual(['released a of 1 again', 'released a of 1']);
  });

  it('does nothing without a call', () => {
    const { slot, told } = start();
    slot.reschedule();
    slot.released();
    expect([slot.begin(), slot.drop(), slot.isTaken, slot.isAtEnd, told]).toEqual([undefined, undefined, false, false, []]);
    expect(() => slot.request()).toThrow('slot 3 has nothing to run');
  });
});

const never = (): never => {
  throw new Error('nothing ran');
};
