import { afterEach, describe, expect, it } from 'vitest';
import type { OldestStrategy } from '../../../src/streams/inference/model-spec.ts';
import { SequenceModel, type SequenceModelFields } from '../../support/sequence-model.ts';

describe('OldestBatcher', () => {
  let model: SequenceModel;

  const start = (limits: Partial<OldestStrategy> = {}, fields: SequenceModelFields = {}): SequenceModel => {
    const strategy: OldestStrategy = {
      kind: 'oldest',
      maxCandidateSequences: 4,
      preferredBatchSizes: [2],
      maxQueueDelayMs: 0,
      preserveOrdering: false,
      ...limits,
    };
    model = new SequenceModel({ ...fields, spec: { maxBatchSize: 2, ...fields.spec }, batching: { strategy, ...fields.batching } });
    return model;
  };

  afterEach(() => expect(model.stop()).toBe(0));

  it('batches the requests of different sequences by arrival, without rows that fill up', () => {
    const { time } = start();
    for (const id of [1n, 2n, 3n]) model.ask(id, 'S', `${id}`);
    model.ask(1n, 'M', '1m');
    time.advance(0);
    expect(model.batches()).toEqual(['1,2']);
    model.finish();
    expect(model.batches()).toEqual(['1,2', '3,1m']);
  });

  it('has as many candidates as the config says, and gives up one with END at once', () => {
    const { time } = start({ maxCandidateSequences: 1 });
    model.ask(1n, 'SE', '1');
    const next = model.ask(2n, 'S', '2', { timeoutMicroseconds: 1000n });
    const queued = model.ask(3n, 'S', '3', { timeoutMicroseconds: 1000n });
    time.advance(5);
    expect([next.state, queued.state]).toEqual(['waits', 'UNAVAILABLE timeout of the corresponding sequence has been expired']);
    expect(model.batches()).toEqual(['1']);
    model.finish();
    expect(model.batches()).toEqual(['1', '2']);
  });

  it('does not put a sequence behind one that ends while another candidacy is free', () => {
    const { time } = start({ maxCandidateSequences: 2 }, { capacity: 2 });
    model.ask(1n, 'SE', '1');
    time.advance(0);
    model.ask(2n, 'S', '2');
    time.advance(0);
    expect(model.batches()).toEqual(['1', '2']);
  });

  it('runs batches beside each other where the instance takes several', () => {
    const { time } = start({ preferredBatchSizes: [1] }, { capacity: 2 });
    for (const id of [1n, 2n, 3n]) model.ask(id, 'S', `${id}`);
    model.ask(1n, 'M', '1m');
    time.advance(0);
    expect(model.batches()).toEqual(['1', '2']);
    model.instance().runs[0]?.finish();
    expect(model.batches()).toEqual(['1', '2', '3']);
  });

  it('counts the delay from the turn of a request', () => {
    const { time } = start({ maxQueueDelayMs: 10 });
    model.ask(1n, 'S', '1');
    model.ask(1n, 'M', '1m');
    time.advance(10);
    expect(model.batches()).toEqual(['1']);
    time.advance(3);
    model.finish();
    time.advance(9);
    expect(model.batches()).toEqual(['1']);
    time.advance(1);
    expect(model.batches()).toEqual(['1', '1m']);
    model.finish();
    // It has waited from its arrival on.
    expect(model.events.filter((event) => event.kind === 'batch-executed').map(({ queueMs }) => queueMs)).toEqual([10, 23]);
  });

  it('takes a request that waits for its batch out of it, and its sequence with it', () => {
    const { time } = start({ maxQueueDelayMs: 10 });
    const front = model.ask(1n, 'S');
    const rest = model.ask(1n, 'M');
    time.advance(5);
    front.caller.unsubscribe();
    expect(rest.state).toBe('CANCELLED ');
    model.ask(2n, 'S', '2');
    time.advance(9);
    expect(model.batches()).toEqual([]);
    time.advance(1);
    expect(model.batches()).toEqual(['2']);
  });

  it('lets the sequence go on that got the candidacy of a last request, when that one is cancelled', () => {
    const { time } = start({ maxCandidateSequences: 1, maxQueueDelayMs: 10 });
    const last = model.ask(1n, 'SE');
    model.ask(2n, 'S', '2');
    last.caller.unsubscribe();
    time.advance(10);
    expect(model.batches()).toEqual(['2']);
    expect(model.counts()).toBe('queued 0 running 1');
  });

  it('holds everything until enough requests are ready at an instance', () => {
    const { time } = start({}, { hold: { holdUntilQueued: 3 } });
    for (const id of [1n, 2n]) model.ask(id, 'S', `${id}`);
    model.ask(1n, 'M');
    time.advance(5);
    expect(model.batches()).toEqual([]);
    model.ask(3n, 'S', '3');
    time.advance(0);
    expect(model.batches()).toEqual(['1,2']);
  });
});
