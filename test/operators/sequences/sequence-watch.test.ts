import { afterEach, describe, expect, it } from 'vitest';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { SequenceModel, type SequenceModelFields } from '../../support/sequence-model.ts';

describe('idle sequences', () => {
  let model: SequenceModel;

  const start = (fields: SequenceModelFields = {}): SequenceModel => {
    model = new SequenceModel({
      ...fields,
      spec: { maxBatchSize: 1, ...fields.spec },
      batching: { strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 }, maxIdleMs: 100, ...fields.batching },
    });
    return model;
  };

  afterEach(() => expect(model.stop()).toBe(0));

  const noStart =
    "INVALID_ARGUMENT inference request for sequence 1 to model 'm' must specify the START flag on the first request of the sequence";

  it('end, and the next request of theirs is told so', () => {
    const { time } = start();
    model.ask(1n, 'S', '1');
    time.advance(0);
    model.finish();
    time.advance(99);
    const goesOn = model.ask(1n, 'M');
    time.advance(0);
    model.finish();
    time.advance(99.5);
    model.ask(2n, 'SE', '2');
    expect([goesOn.state, model.batches().length]).toEqual(['done', 2]);
    time.advance(0.5);
    expect(model.batches().at(-1)).toBe('2');
    expect(model.ask(1n, 'M').state).toBe(`${noStart}: the sequence was idle for longer than 100000 microseconds and has ended`);
    expect(model.ask(1n, 'E').state).toMatch(/: the sequence was idle/);
    model.ask(1n, 'SE');
    expect(model.ask(1n, 'M').state).toBe(noStart);
    expect(model.log.lines).toEqual([]);
  });

  it('count from the arrival of a request, and run what they have', () => {
    const { time } = start();
    const asked = [model.ask(1n, 'S', '1'), model.ask(1n, 'M', '1m')];
    time.advance(150);
    expect(model.ask(1n, 'M').state).toMatch(/: the sequence was idle/);
    model.ask(2n, 'SE', '2');
    model.finish();
    model.finish();
    model.finish();
    expect(asked.map(({ state }) => state)).toEqual(['done', 'done']);
    expect(model.batches()).toEqual(['1', '1m', '2']);
  });

  it('keep their place in the backlog, and have 50 ms for a next request once they have a slot', () => {
    const { time } = start();
    model.ask(1n, 'S', '1');
    model.ask(2n, 'S', '2');
    model.ask(3n, 'S', '3');
    time.advance(0);
    model.finish();
    time.advance(100);
    expect(model.batches()).toEqual(['1', '2']);
    time.advance(20);
    model.finish();
    time.advance(29);
    expect(model.ask(2n, 'M', '2m').state).toBe('waits');
    time.advance(0);
    model.finish();
    time.advance(99);
    expect(model.batches()).toEqual(['1', '2', '2m']);
    time.advance(1);
    expect(model.batches()).toEqual(['1', '2', '2m', '3']);
    model.finish();
    time.advance(49);
    model.ask(4n, 'SE', '4');
    expect(model.counts()).toBe('queued 1 running 0');
    time.advance(1);
    expect(model.batches().at(-1)).toBe('4');
  });

  it('end each once, however many there are', () => {
    const { time } = start({ spec: { maxBatchSize: 4 } });
    for (let id = 1n; id <= 16n; id++) model.ask(id, 'S', `${id}`);
    for (let round = 0; round < 4; round++) {
      time.advance(round === 0 ? 0 : 100);
      model.finish();
    }
    expect(model.batches()).toEqual(['1,2,3,4', '5,6,7,8', '9,10,11,12', '13,14,15,16']);
    time.advance(100);
    model.ask(17n, 'SE', '17');
    time.advance(0);
    expect(model.batches().at(-1)).toBe('17');
    expect(model.log.lines).toEqual([]);
  });

  it('get a last step, where the model wants it, whose answer nobody sees', () => {
    const controls = (['START', 'END', 'READY'] as const).map((kind) => ({
      kind,
      name: kind,
      datatype: 'INT32' as const,
      whenFalse: 0,
      whenTrue: 1,
    }));
    const { time } = start({ batching: { endsIdleWithStep: true, controls } });
    model.ask(7n, 'S', '7');
    time.advance(0);
    model.finish();
    time.advance(100);
    const request = model.instance().last.batch.requests[0];
    const plain = { modelName: 'm', modelVersion: '', id: '', outputs: [], priority: 0n, timeoutMicroseconds: 0n };
    expect(request).toMatchObject({ ...plain, sequenceId: 7n, sequenceStart: false, sequenceEnd: true });
    expect([...(request?.parameters ?? [])]).toEqual([['weir_sequence_idle', true]]);
    const read = (name: string): unknown =>
      [...tensorValues(request?.inputs.get(name) ?? [...(request?.inputs.values() ?? [])][0] ?? never())].map(Number);
    expect(['START', 'END', 'READY', 'IN'].map(read)).toEqual([[0], [1], [1], [0, 0, 0, 0]]);
    expect(model.counts()).toBe('queued 0 running 0');
    model.ask(8n, 'SE', '8');
    time.advance(0);
    expect(model.batches()).toEqual(['7', '-']);
    model.finish();
    expect(model.batches()).toEqual(['7', '-', '8']);
    expect(model.events.filter(({ kind }) => kind === 'batch-executed').length).toBe(1);
  });
});

const never = (): never => {
  throw new Error('no input');
};

describe('times of sequences', () => {
  let model: SequenceModel;

  /** Idle after 100 ms, with two slots. */
  const start = (fields: SequenceModelFields = {}): SequenceModel => {
    model = new SequenceModel({
      ...fields,
      spec: { maxBatchSize: 2, ...fields.spec },
      batching: { strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 }, maxIdleMs: 100, ...fields.batching },
    });
    return model;
  };

  afterEach(() => expect(model.stop()).toBe(0));

  const runAll = (): void => {
    model.time.advance(0);
    model.finish();
  };
  const isIdle = (id: bigint): boolean => model.ask(id, 'M').state.includes('the sequence was idle');
  const expired = 'UNAVAILABLE timeout of the corresponding sequence has been expired';

  it('go by the last request of each, whichever began first', () => {
    const { time } = start();
    model.ask(1n, 'S');
    time.advance(10);
    model.ask(2n, 'S');
    runAll();
    time.advance(40);
    model.ask(1n, 'M');
    runAll();
    time.advance(61);
    expect([isIdle(1n), isIdle(2n)]).toEqual([false, true]);
  });

  it.each([
    [29, false],
    [30, true],
  ])('are all kept by one timer, that of a second look too (%d ms later: %s)', (ms, isOver) => {
    const { time } = start();
    for (const id of [1n, 2n, 3n]) model.ask(id, 'S');
    runAll();
    time.advance(20);
    model.ask(2n, 'M');
    runAll();
    time.advance(80);
    // 1 has ended, and 3, which has waited for 100 ms, has its slot until 150.
    model.finish();
    time.advance(5);
    model.ask(4n, 'S').caller.unsubscribe();
    time.advance(15);
    expect([isIdle(1n), isIdle(2n)]).toEqual([true, true]);
    time.advance(ms);
    expect(isIdle(3n)).toBe(isOver);
  });

  it('let a deadline pass only when it is there', () => {
    const { time } = start();
    model.ask(1n, 'S');
    model.ask(2n, 'S');
    runAll();
    model.ask(1n, 'M');
    model.ask(2n, 'M');
    time.advance(0);
    const [early, late] = [50_000n, 130_000n].map((timeoutMicroseconds, n) => model.ask(BigInt(3 + n), 'S', '', { timeoutMicroseconds }));
    time.advance(101);
    expect([early?.state, late?.state]).toEqual([expired, 'waits']);
    time.advance(29);
    expect(late?.state).toBe(expired);
  });

  it('leave a sequence that was not idle in the backlog all of its time in its slot', () => {
    const { time } = start({ spec: { maxBatchSize: 1 } });
    model.ask(1n, 'SE');
    model.ask(2n, 'S');
    time.advance(20);
    model.finish();
    model.finish();
    time.advance(75);
    expect(isIdle(2n)).toBe(false);
  });

  it('are nothing to a sequence that has ended in the backlog, however long it waited', () => {
    const { time } = start({ spec: { maxBatchSize: 1 } });
    model.ask(1n, 'S');
    model.ask(2n, 'S');
    time.advance(110);
    model.ask(2n, 'E');
    for (let n = 0; n < 3; n++) model.finish();
    expect([model.counts(), time.pending]).toEqual(['queued 0 running 0', 0]);
  });

  it('end nothing that waits in a slot, not all of a sequence that has one since', () => {
    const { time } = start({ spec: { maxBatchSize: 1 } });
    model.ask(1n, 'SE');
    const asked = [model.ask(2n, 'S', '', { timeoutMicroseconds: 2000n }), model.ask(2n, 'E')];
    runAll();
    time.advance(5);
    expect(asked.map(({ state }) => state)).toEqual(['waits', 'waits']);
  });

  it('expire in the order of STARTs what is due together, each at its earliest deadline', () => {
    const { time } = start({ spec: { maxBatchSize: 1 } });
    model.ask(1n, 'S');
    time.advance(0);
    const order: bigint[] = [];
    for (const id of [2n, 3n, 4n]) {
      const asked = model.ask(id, 'S', '', { timeoutMicroseconds: 3000n });
      model.ask(id, 'M', '', { timeoutMicroseconds: 9000n });
      asked.caller.add(() => order.push(id));
    }
    time.advance(3);
    expect(order).toEqual([2n, 3n, 4n]);
  });

  /** The only slot belongs to a sequence that takes no more, and so has no times. */
  const startTaken = (): void => {
    start({ spec: { maxBatchSize: 1 } });
    model.ask(1n, 'S');
    model.time.advance(0);
    model.ask(1n, 'E');
    expect(model.time.pending).toBe(0);
  };

  it.each(['S', 'SE'] as const)('leave no timer for what is cancelled in the backlog (%s)', (flags) => {
    startTaken();
    const asked = model.ask(2n, flags, '', { timeoutMicroseconds: 9000n });
    expect(model.time.pending).toBe(1);
    asked.caller.unsubscribe();
    expect(model.time.pending).toBe(0);
  });

  it('keep a deadline when the last other sequence that could be idle ends', () => {
    startTaken();
    const waiting = model.ask(2n, 'SE', '', { timeoutMicroseconds: 9000n });
    model.ask(3n, 'S').caller.unsubscribe();
    model.time.advance(9);
    expect(waiting.state).toBe(expired);
  });

  it('leave no timer when the model ends beside a deadline of a sequence that takes no more', () => {
    startTaken();
    model.ask(2n, 'SE', '', { timeoutMicroseconds: 9000n });
    expect(model.time.pending).toBe(1);
  });
});
