import { NEVER, Observable, of, Subject, take, throwError } from 'rxjs';
import { expect, it } from 'vitest';
import { emitEvents } from '../../../src/operators/layers/emit-events.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferenceEvent } from '../../../src/streams/inference/events.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { collect, inferRequest, inferResponse, modelSpec } from '../../support/request-fixtures.ts';

const watched = (answer$: ReturnType<Parameters<ReturnType<typeof emitEvents>>[0]>) => {
  const events: InferenceEvent[] = [];
  const clock = { nowMs: 10, now: () => clock.nowMs };
  const infer = emitEvents({ spec: modelSpec({ version: '3' }), sink: (event) => events.push(event), scheduler: clock })(() => answer$);
  return { events, clock, answer$: infer(inferRequest({})) };
};

const ended = (failure: string | undefined, durationMs = 0) => ({ kind: 'request-ended', model: 'm', version: '3', failure, durationMs });

it('tells of success at completion, with the time that it took', () => {
  const source$ = new Subject<InferResponse>();
  const { events, clock, answer$ } = watched(source$);
  const seen: unknown[] = [];
  answer$.subscribe({ next: () => seen.push(events.length), complete: () => seen.push(events.length) });
  clock.nowMs = 12.5;
  source$.next(inferResponse({}, { isLast: false }));
  source$.complete();
  expect(events).toEqual([ended(undefined, 2.5)]);
  // The caller learns of the end after the count is right.
  expect(seen).toEqual([0, 1]);
});

it('tells of success with the last answer, whatever the caller does then', () => {
  const source$ = new Subject<InferResponse>();
  const { events, answer$ } = watched(source$);
  answer$.pipe(take(1)).subscribe();
  source$.next(inferResponse({}));
  expect(events).toEqual([ended(undefined)]);
  expect(source$.observed).toBe(false);
});

it('tells of failure under the reason of the error', () => {
  const rejected = watched(throwError(() => new InferError('UNAVAILABLE', 'full', { reason: 'REJECTED' })));
  expect(collect(rejected.answer$).error).toBeInstanceOf(InferError);
  expect(rejected.events).toEqual([ended('REJECTED')]);
  const odd = watched(throwError(() => new Error('odd')));
  expect(collect(odd.answer$).error).toEqual(new Error('odd'));
  expect(odd.events).toEqual([ended('OTHER')]);
});

it('tells of a cancellation, and cancels', () => {
  const source$ = new Subject<InferResponse>();
  const { events, answer$ } = watched(source$);
  const caller = answer$.subscribe();
  source$.next(inferResponse({}, { isLast: false }));
  expect(events).toEqual([]);
  caller.unsubscribe();
  expect(events).toEqual([ended('CANCELED')]);
  expect(source$.observed).toBe(false);
});

it('counts each subscription once, and none that never was', () => {
  const { events, answer$ } = watched(of(inferResponse({}, { isLast: false }), inferResponse({})));
  expect(events).toEqual([]);
  collect(answer$);
  collect(answer$);
  expect(events).toEqual([ended(undefined), ended(undefined)]);
  const silent = watched(NEVER);
  collect(silent.answer$);
  expect(silent.events).toEqual([ended('CANCELED')]);
});

it('does not count what is refused, whatever the caller does then', () => {
  const refused = watched(throwError(() => new InferError('INVALID_ARGUMENT', 'no START', { reason: 'REFUSED' })));
  const caller = refused.answer$.subscribe({ error: () => {} });
  caller.unsubscribe();
  expect(refused.events).toEqual([]);
});

it.each(['cancelled', 'answered'])('lets go of all that was asked, once, when it is %s', (how) => {
  const gone: string[] = [];
  const ended$ = new Subject<InferResponse>();
  const asked$ = new Observable<InferResponse>((subscriber) => {
    subscriber.add({ unsubscribe: () => gone.push('call') });
    subscriber.add({ unsubscribe: () => gone.push('another') });
    subscriber.add(() => gone.push('function'));
    return ended$.subscribe(subscriber);
  });
  const { answer$ } = watched(asked$);
  const caller = answer$.subscribe();
  expect(gone).toEqual([]);
  if (how === 'answered') ended$.complete();
  caller.unsubscribe();
  caller.unsubscribe();
  expect(gone.toSorted()).toEqual(['another', 'call', 'function']);
  expect(ended$.observed).toBe(false);
});
