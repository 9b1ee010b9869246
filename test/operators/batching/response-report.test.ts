import { describe, expect, it } from 'vitest';
import { runModel } from '../../../src/operators/run-model.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferenceEvent } from '../../../src/streams/inference/events.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { HandInstance, living, makeLog, makePart, makePlacement, makeRequest, makeSpec } from '../../support/model.ts';
import { SequenceModel } from '../../support/sequence-model.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const outputs = new Map([['OUT', new Tensor('UINT8', [1, 4], new Uint8Array(4))]]);

/** `1 success 2+3`: index, outcome, and milliseconds until it was given and until it was taken. */
const responsesIn = (events: readonly InferenceEvent[]): string[] =>
  events.flatMap((event) =>
    event.kind === 'response-made' ? [`${event.index} ${event.outcome} ${event.computeInferMs}+${event.computeOutputMs}`] : [],
  );

/** A decoupled model on virtual time, whose requests all run at once as one batch. */
const start = (requests: number, spec: Partial<ModelSpec> = {}, takesMs = 0) => {
  const time = new VirtualTime();
  const instance = new HandInstance();
  const events: InferenceEvent[] = [];
  const model$ = runModel({
    spec: makeSpec({ decoupled: true, ...spec }),
    placements: [{ placement: makePlacement(), open: () => living(instance) }],
    layers: [],
    sink: (event) => events.push(event),
    scheduler: time,
    log: makeLog(),
  });
  const callers: { unsubscribe(): void }[] = [];
  model$.subscribe(({ infer }) => {
    for (let n = 0; n < requests; n++) {
      callers.push(infer(makeRequest({ id: `${n}` })).subscribe({ next: () => time.advance(takesMs), error: () => {} }));
    }
  });
  time.advance(0);
  return { time, run: instance.last, callers, responses: () => responsesIn(events) };
};

describe('the report on the answers of a decoupled model', () => {
  it('has the time since the answer before, and how long its caller took it', () => {
    const { time, run, responses } = start(1, {}, 3);
    for (const waitMs of [5, 7]) {
      time.advance(waitMs);
      run.answer(makePart(0, { outputs, isLast: false }));
    }
    time.advance(1);
    run.answer(makePart(0, { outputs }));
    expect(responses()).toEqual(['0 success 5+3', '1 success 7+3', '2 success 1+3']);
  });

  it('counts the first from the moment when the inputs were there', () => {
    const { time, run, responses } = start(1);
    time.advance(4);
    run.batch.times.inputEndMs = time.now();
    time.advance(2);
    run.answer(makePart(0, { outputs }));
    expect(responses()).toEqual(['0 success 2+0']);
  });

  it('tells an end without a last answer as an empty one, be it the only one or not', () => {
    const { time, run, responses } = start(2);
    run.answer(makePart(1, { outputs, isLast: false }));
    time.advance(2);
    run.complete();
    expect(responses()).toEqual(['0 success 0+0', '0 empty 2+0', '1 empty 2+0']);
  });

  it('tells a last answer without outputs as an empty one', () => {
    const { run, responses } = start(1);
    run.answer(makePart(0));
    expect(responses()).toEqual(['0 empty 0+0']);
  });

  it('counts the answers of each request of a batch from 0', () => {
    const { run, responses } = start(2);
    for (const of of [0, 1, 1, 0]) run.answer(makePart(of, { outputs, isLast: false }));
    expect(responses().map((line) => line[0])).toEqual(['0', '0', '1', '1']);
  });

  it('has a failure in the place of the answer that did not come: of one request, and of all that were left', () => {
    const { time, run, responses } = start(3);
    run.answer(makePart(1, { outputs, isLast: false }));
    time.advance(2);
    run.answer(makePart(1, { error: new InferError('INTERNAL', 'no') }));
    run.answer(makePart(0, { outputs }));
    run.fail(new Error('died'));
    expect(responses()).toEqual(['0 success 0+0', '1 fail 2+0', '0 success 2+0', '0 fail 2+0']);
  });

  it('has a cancellation in the place of the answer that nobody waits for', () => {
    const { time, run, callers, responses } = start(2);
    run.answer(makePart(1, { outputs, isLast: false }));
    time.advance(6);
    callers[1]?.unsubscribe();
    run.answer(makePart(1, { outputs, isLast: false }));
    expect(responses()).toEqual(['0 success 0+0', '1 cancel 6+0']);
  });

  it('tells an answer at which its caller hangs up, and the cancellation after it', () => {
    const { run, callers, responses } = start(2);
    callers[0]?.unsubscribe();
    run.answer(makePart(1, { outputs, isLast: false }));
    callers[1]?.unsubscribe();
    expect(responses()).toEqual(['0 cancel 0+0', '0 success 0+0', '1 cancel 0+0']);
  });

  it('says nothing of a model that is not decoupled', () => {
    const { run, responses } = start(1, { decoupled: false });
    run.finish();
    expect(responses()).toEqual([]);
  });

  it('counts on over the steps of an iterative sequence', () => {
    const model = new SequenceModel({ spec: { decoupled: true }, batching: { isIterative: true } });
    model.ask(7n, 'S');
    for (const isRescheduled of [true, false]) {
      model.time.advance(0);
      model.instance().last.answer(makePart(0, { outputs, isRescheduled }));
      model.instance().last.complete();
    }
    expect(responsesIn(model.events)).toEqual(['0 success 0+0', '1 success 0+0']);
    model.stop();
  });
});
