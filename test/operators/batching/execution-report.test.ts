import { Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { ExecutionReport } from '../../../src/operators/batching/execution-report.ts';
import { ResponseReport } from '../../../src/operators/batching/response-report.ts';
import { Call } from '../../../src/operators/call.ts';
import type { InferenceEvent } from '../../../src/streams/inference/events.ts';
import type { ComputeTimes } from '../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { makeRequest } from '../../support/model.ts';
import { inferResponse } from '../../support/request-fixtures.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const start = (queuedSinceMs: readonly number[], startMs: number, onAnswer = () => {}) => {
  const time = new VirtualTime();
  time.advance(startMs);
  const events: InferenceEvent[] = [];
  const spents = queuedSinceMs.map((): ComputeTimes => ({ inputMs: 0, inferMs: 0, outputMs: 0 }));
  const calls: Call[] = [];
  for (const [index, arrivedMs] of queuedSinceMs.entries()) {
    new Observable<InferResponse>((caller) => {
      const request = makeRequest({ spent: spents[index] });
      calls.push(new Call({ request, rows: index + 1, shapeKey: '', arrivedMs, caller, holder: { cancel: () => {} } }));
    }).subscribe({ next: onAnswer, error: () => {} });
  }
  const config = { spec: { name: 'm', version: '3' }, sink: (event: InferenceEvent) => events.push(event), scheduler: time };
  const report = new ExecutionReport(config);
  return { time, events, spents, calls, report, responses: new ResponseReport(config, calls, report) };
};

describe('ExecutionReport', () => {
  it('tells of the requests that succeeded, how long they waited, and where the batch spent its time', () => {
    const { time, events, calls, report } = start([2, 5, 0], 10);
    report.rows = 6;
    report.times.inputEndMs = 11;
    report.times.outputStartMs = 14;
    time.advance(9);
    for (const call of calls.slice(0, 2)) report.succeeded(call);
    report.send();
    const computed = { computeInputMs: 1, computeInferMs: 3, computeOutputMs: 5 };
    const counted = { rows: 6, succeeded: 2, succeededRows: 3, queueMs: 13 };
    expect(events).toEqual([{ kind: 'batch-executed', model: 'm', version: '3', ...counted, ...computed, endedAtMs: expect.any(Number) }]);
  });

  it('takes all of it for the model’s own where the instance says nothing, and nothing for negative', () => {
    const silent = start([0], 10);
    silent.time.advance(4);
    for (const call of silent.calls) silent.report.succeeded(call);
    silent.report.send();
    expect(silent.events).toMatchObject([{ computeInputMs: 0, computeInferMs: 4, computeOutputMs: 0 }]);
    const odd = start([0], 10);
    Object.assign(odd.report.times, { inputEndMs: 9, outputStartMs: 8 });
    for (const call of odd.calls) odd.report.succeeded(call);
    odd.report.send();
    expect(odd.events).toMatchObject([{ computeInputMs: 0, computeInferMs: 0, computeOutputMs: 2 }]);
    expect(odd.spents).toEqual([{ inputMs: 0, inferMs: 0, outputMs: 2 }]);
  });

  it('tells nothing of one without success', () => {
    const { events, report } = start([0], 1);
    report.send();
    expect(events).toEqual([]);
  });

  it('charges each request that wants to know with the whole of the batch so far', () => {
    const { time, spents, calls, report } = start([0, 0], 10);
    Object.assign(report.times, { inputEndMs: 12, outputStartMs: 15 });
    time.advance(6);
    for (const call of calls.slice(0, 1)) report.succeeded(call);
    time.advance(2);
    for (const call of calls) report.succeeded(call);
    expect(spents).toEqual([
      { inputMs: 4, inferMs: 6, outputMs: 4 },
      { inputMs: 2, inferMs: 3, outputMs: 3 },
    ]);
    const silent = start([0], 10);
    silent.time.advance(4);
    for (const call of silent.calls) silent.report.succeeded(call);
    expect(silent.spents).toEqual([{ inputMs: 0, inferMs: 4, outputMs: 0 }]);
  });
});

describe('ResponseReport', () => {
  it('tells of each answer how long the model took for it, from the one before on, and the caller', () => {
    const handing = { advance: (): void => {} };
    const { time, events, calls, report, responses } = start([0, 0], 10, () => handing.advance());
    handing.advance = () => time.advance(0.5);
    report.times.inputEndMs = 11;
    const [first, second] = calls;
    if (first === undefined || second === undefined) throw new Error('none');
    time.advance(4);
    responses.give(first, inferResponse(Object.fromEntries(makeRequest().inputs), { isLast: false }));
    time.advance(2);
    responses.give(first, inferResponse({}, { isLast: false }));
    responses.end(first, 'empty');
    responses.end(second, 'fail');
    const told = events.map((event) =>
      event.kind === 'response-made' ? [event.index, event.outcome, event.computeInferMs, event.computeOutputMs] : event.kind,
    );
    expect(told).toEqual([
      [0, 'success', 3, 0.5],
      [1, 'empty', 2, 0.5],
      [2, 'empty', 0, 0],
      [0, 'fail', 6, 0],
    ]);
  });
});
