import { afterEach, describe, expect, it } from 'vitest';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../src/streams/tensors/tensor-values.ts';
import { makePart } from '../support/model.ts';
import { SequenceModel, type SequenceModelFields } from '../support/sequence-model.ts';
import { makeState } from '../support/sequences.ts';

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

const never = (): never => {
  throw new Error('nothing ran');
};
