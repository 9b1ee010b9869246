import { NEVER, type Observable, of, Subject, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { Batch, Part } from '../../../src/streams/inference/backend.ts';
import { runEach } from '../../../src/streams/inference/run-each.ts';
import { makePart, makeRequest } from '../../support/model.ts';

const batchOf = (count: number): Batch => ({
  requests: Array.from({ length: count }, (_, n) => makeRequest({ id: `${n}` })),
  rows: Array(count).fill(1),
  totalRows: count,
  wholeInputs: new Map(),
  times: { inputEndMs: 0, outputStartMs: 0 },
});

const start = (answers: readonly Observable<Part>[]) => {
  const batch = batchOf(answers.length);
  const seen: string[] = [];
  const running = runEach(batch, ({ id }, index) => {
    expect(id).toBe(`${index}`);
    return answers[index] ?? NEVER;
  }).subscribe({
    next: ({ of: request, isLast }) => seen.push(`${request}${isLast ? ' ends' : ''}`),
    error: (error) => seen.push(String(error)),
    complete: () => seen.push('complete'),
  });
  return { batch, seen, running };
};

const answer = (request: number): Part => makePart(request, { isLast: false });

describe('runEach', () => {
  it('brings all answers as they come, and tells the end of each request', () => {
    const [a, b] = [new Subject<Part>(), new Subject<Part>()];
    const { seen } = start([a, b, of(answer(2))]);
    b.next(answer(1));
    a.next(answer(0));
    b.next(answer(1));
    b.complete();
    a.complete();
    expect(seen).toEqual(['2', '2 ends', '1', '0', '1', '1 ends', '0 ends', 'complete']);
  });

  it('completes with no requests', () => {
    expect(start([]).seen).toEqual(['complete']);
  });

  it('stops a request whose caller has gone, and ends with the others', () => {
    const [a, b] = [new Subject<Part>(), new Subject<Part>()];
    const { batch, seen } = start([a, b]);
    batch.onCancelled?.(0);
    expect([a.observed, b.observed]).toEqual([false, true]);
    b.complete();
    expect(seen).toEqual(['1 ends', 'complete']);
  });

  it('never begins a request whose caller goes at the answer to another', () => {
    const batch = batchOf(2);
    const begun: number[] = [];
    const seen: string[] = [];
    runEach(batch, (_, index) => {
      begun.push(index);
      return of(answer(index));
    }).subscribe({
      next: ({ isLast }) => {
        if (!isLast) batch.onCancelled?.(1);
      },
      complete: () => seen.push('complete'),
    });
    expect([begun, seen]).toEqual([[0], ['complete']]);
  });

  it('fails with any of them, and stops the others', () => {
    const a = new Subject<Part>();
    const { seen } = start([a, throwError(() => new Error('broken'))]);
    expect([seen, a.observed]).toEqual([['Error: broken'], false]);
  });

  it('stops all when it is unsubscribed', () => {
    const [a, b] = [new Subject<Part>(), new Subject<Part>()];
    const { running, seen } = start([a, b]);
    running.unsubscribe();
    expect([a.observed, b.observed, seen]).toEqual([false, false, []]);
  });
});
