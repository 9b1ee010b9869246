import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Batch } from '../../../src/streams/inference/backend.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makeInput, makePart } from '../../support/model.ts';
import { SequenceModel, type SequenceModelFields } from '../../support/sequence-model.ts';
import { makeState } from '../../support/sequences.ts';

const flag = (kind: 'START' | 'END' | 'READY') => ({ kind, name: kind, datatype: 'INT32', whenFalse: 0, whenTrue: 1 }) as const;
const corrid = { kind: 'CORRID', name: 'CORRID', datatype: 'UINT64' } as const;

describe('DirectBatcher', () => {
  let model: SequenceModel;

  const start = (fields: SequenceModelFields = {}, limits = {}): SequenceModel => {
    const strategy = { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0, ...limits } as const;
    model = new SequenceModel({ ...fields, spec: { maxBatchSize: 4, ...fields.spec }, batching: { strategy, ...fields.batching } });
    return model;
  };

  afterEach(() => expect(model.stop()).toBe(0));

  const values = ({ requests }: Batch, name: string): unknown[] =>
    requests.map(({ inputs }) => {
      const tensor = inputs.get(name);
      if (tensor === undefined) return undefined;
      return tensor.datatype === 'BYTES' ? tensorStrings(tensor)[0] : Number(tensorValues(tensor)[0]);
    });

  it('keeps each sequence in its row, and fills up the rows between', () => {
    const { time } = start({ batching: { controls: [flag('START'), flag('END'), flag('READY'), corrid] } });
    for (const id of [1n, 2n, 3n]) model.ask(id, 'S', `${id}`);
    time.advance(0);
    model.finish();
    model.ask(3n, 'E', '3');
    time.advance(0);
    const { batch } = model.instance().last;
    expect(model.batches()).toEqual(['1,2,3', '-,-,3']);
    expect([batch.rows, batch.totalRows]).toEqual([[1, 1, 1], 3]);
    expect(['START', 'END', 'READY', 'CORRID', 'IN'].map((name) => values(batch, name))).toEqual([
      [0, 0, 0],
      [0, 0, 1],
      [0, 0, 1],
      [0, 0, 3],
      [0, 0, 3],
    ]);
    model.finish();
    expect(model.events.at(-1)).toMatchObject({ rows: 3, succeeded: 1, succeededRows: 1 });
    model.ask(2n, 'M', '2');
    time.advance(0);
    expect(model.batches().at(-1)).toBe('-,2');
  });

  it('gives an empty id to rows that only fill up where ids are strings', () => {
    const { time } = start({ batching: { controls: [{ ...corrid, datatype: 'BYTES' }] } });
    for (const id of ['a', 'bé']) model.ask(id, 'S');
    time.advance(0);
    model.finish();
    model.ask('bé', 'M');
    time.advance(0);
    expect(values(model.instance().last.batch, 'CORRID')).toEqual(['', 'bé']);
  });

  const variable: Partial<ModelSpec> = { inputs: [makeInput({ dims: [-1] })] };

  it('runs the shape of the lowest row, and the others after it', () => {
    const { time } = start({ spec: variable });
    model.ask(1n, 'S', '1', {}, 4);
    model.ask(2n, 'S', '2', {}, 5);
    model.ask(3n, 'S', '3', {}, 4);
    time.advance(0);
    expect(model.batches()).toEqual(['1,-,3']);
    expect(model.instance().last.batch.requests.map(({ inputs }) => inputs.get('IN')?.shape)).toEqual([
      [1, 4],
      [1, 4],
      [1, 4],
    ]);
    model.finish();
    expect(model.batches()).toEqual(['1,-,3', '-,2']);
    expect(model.instance().last.batch.requests[0]?.inputs.get('IN')?.shape).toEqual([1, 5]);
  });

  it('fills up with the states that a sequence begins with, or with zeros where states have grown', () => {
    const { time } = start({ batching: { states: [makeState({ dims: [-1], initial: tensorFrom('INT32', [1, 1], [7]) })] } });
    const states = (): unknown[] =>
      model.instance().last.batch.requests.map(({ inputs }) => {
        const tensor = inputs.get('STATE');
        return tensor === undefined ? 'none' : [...tensorValues(tensor)];
      });
    const answer = (...values: number[][]): void => {
      for (const [of, list] of values.entries()) {
        model.instance().last.answer(makePart(of, { outputs: new Map([['STATE_OUT', tensorFrom('INT32', [1, list.length], list)]]) }));
      }
      model.instance().last.complete();
    };
    model.ask(1n, 'S');
    model.ask(2n, 'S');
    time.advance(0);
    expect(states()).toEqual([[7], [7]]);
    answer([1], [2]);
    model.ask(2n, 'M');
    time.advance(0);
    expect(states()).toEqual([[7], [2]]);
    answer([9], [3, 4]);
    model.ask(1n, 'M');
    model.ask(2n, 'M');
    time.advance(0);
    // A state of another shape cannot share the batch.
    expect(states()).toEqual([[1]]);
    answer([5]);
    expect(states()).toEqual([
      [0, 0],
      [3, 4],
    ]);
  });

  it('begins no batch before the one before it has ended', () => {
    const { time } = start({ capacity: 2 });
    model.ask(1n, 'S', '1');
    time.advance(0);
    model.ask(2n, 'S', '2');
    time.advance(5);
    expect(model.batches()).toEqual(['1']);
    model.finish();
    expect(model.batches()).toEqual(['1', '-,2']);
  });

  it('puts the next sequence into the row of one that ends, for the batch after', () => {
    const { time } = start({ spec: { maxBatchSize: 1 } });
    model.ask(1n, 'S', '1');
    model.ask(1n, 'E', '1e');
    model.ask(2n, 'SE', '2');
    time.advance(0);
    model.finish();
    expect(model.counts()).toBe('queued 1 running 1');
    model.finish();
    expect(model.batches()).toEqual(['1', '1e', '2']);
  });

  it('hands out the lowest rows of all instances first', () => {
    const { time } = start({ instances: 2, spec: { maxBatchSize: 2 } });
    for (const id of [1n, 2n, 3n, 4n]) model.ask(id, 'S', `${id}`);
    time.advance(0);
    expect([model.batches(0), model.batches(1)]).toEqual([['1,3'], ['2,4']]);
    model.finish(0);
    model.finish(1);
    model.ask(2n, 'E', '2');
    model.ask(3n, 'E', '3');
    time.advance(0);
    model.ask(5n, 'S', '5');
    model.finish(0);
    model.finish(1);
    expect([model.batches(0).at(-1), model.batches(1).at(-1)]).toEqual(['-,3', '5']);
  });

  it('waits for a share of the rows, or for the delay', () => {
    const { time } = start({}, { maxQueueDelayMs: 10, minimumSlotUtilization: 0.5 });
    model.ask(1n, 'S', '1');
    time.advance(9.5);
    expect(model.batches()).toEqual([]);
    time.advance(0.5);
    expect(model.batches()).toEqual(['1']);
    model.finish();
    model.ask(1n, 'M', '1m');
    time.advance(1);
    model.ask(2n, 'S', '2');
    time.advance(0);
    expect(model.batches()).toEqual(['1', '1m,2']);
  });

  it('sets one end of a tick for all that comes in it, and none while the instance is busy', () => {
    const { time } = start();
    const schedule = vi.spyOn(time, 'schedule');
    const turns = (): number => schedule.mock.calls.filter(([, delayMs]) => delayMs === 0).length;
    for (const id of [1n, 2n]) model.ask(id, 'S');
    expect(turns()).toBe(1);
    time.advance(0);
    model.ask(3n, 'S');
    expect(turns()).toBe(1);
    model.finish();
    expect(turns()).toBe(1);
  });

  it.each(['ends', 'dies'])('leaves no timer behind when it waits for the delay and the instance %s', (how) => {
    const { time } = start({ batching: { maxIdleMs: 1e6 } }, { maxQueueDelayMs: 10, minimumSlotUtilization: 1 });
    const asked = model.ask(1n, 'S');
    const before = time.pending;
    time.advance(1);
    expect(time.pending).toBe(before);
    if (how === 'dies') model.lives[0]?.error(new Error('out of luck'));
    else model.running.unsubscribe();
    expect(asked.state).toMatch(/^UNAVAILABLE/);
    // The instance comes again.
    expect(time.pending).toBe(how === 'dies' ? 1 : 0);
  });

  it('keeps its timer while the wait goes on, and stops it when the batch goes before', () => {
    const { time } = start({ batching: { maxIdleMs: 1e6 } }, { maxQueueDelayMs: 10, minimumSlotUtilization: 0.75 });
    const schedule = vi.spyOn(time, 'schedule');
    const waits = (): number => schedule.mock.calls.filter(([, delayMs = 0]) => delayMs > 0 && delayMs <= 10).length;
    model.ask(1n, 'S');
    time.advance(1);
    model.ask(2n, 'S');
    time.advance(1);
    expect(waits()).toBe(1);
    model.ask(3n, 'S');
    time.advance(0);
    expect(model.batches()).toHaveLength(1);
    // What is left is the watch for idle sequences.
    expect(time.pending).toBe(1);
  });

  it('counts the delay from the oldest that still waits', () => {
    const { time } = start({ spec: { maxBatchSize: 2, ...variable } }, { maxQueueDelayMs: 10, minimumSlotUtilization: 1 });
    model.ask(1n, 'S', '1');
    time.advance(5);
    model.ask(2n, 'S', '2');
    time.advance(0);
    model.finish();
    const early = model.ask(2n, 'M');
    time.advance(4);
    model.ask(1n, 'M', '1m');
    early.caller.unsubscribe();
    time.advance(9.5);
    expect(model.batches()).toHaveLength(1);
    time.advance(0.5);
    expect(model.batches().at(-1)).toBe('1m');
  });

  it('counts the delay from the arrival also of a request that waited for its turn', () => {
    const { time } = start({ spec: { maxBatchSize: 2 } }, { maxQueueDelayMs: 10, minimumSlotUtilization: 1 });
    model.ask(1n, 'S', '1');
    model.ask(1n, 'M', '1m');
    time.advance(10);
    model.finish();
    expect(model.batches()).toEqual(['1', '1m']);
  });

  it('holds everything until enough is queued in all slots, and enough behind them', () => {
    const { time } = start({ spec: { maxBatchSize: 1 }, instances: 2, hold: { holdUntilQueued: 3, holdUntilBacklogged: 2 } });
    model.ask(1n, 'S', '1');
    model.ask(2n, 'S', '2');
    model.ask(1n, 'M');
    time.advance(5);
    model.ask(3n, 'S', '3');
    time.advance(5);
    expect([model.batches(0), model.batches(1)]).toEqual([[], []]);
    model.ask(3n, 'M', '3m');
    time.advance(0);
    expect([model.batches(0), model.batches(1)]).toEqual([['1'], ['2']]);
    model.finish(0);
    model.finish(0);
    model.ask(1n, 'E', '1e');
    time.advance(0);
    expect(model.batches(0).at(-1)).toBe('1e');
  });
});
