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
