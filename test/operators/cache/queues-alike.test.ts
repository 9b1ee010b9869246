import { describe, expect, it } from 'vitest';
import { queuesAlike } from '../../../src/operators/cache/queues-alike.ts';
import type { DynamicBatching } from '../../../src/streams/inference/model-spec.ts';
import { makeBatching, makeQueuePolicy, makeRequest } from '../../support/model.ts';

const alike = (batching: Partial<DynamicBatching> | undefined, a: object, b: object): boolean =>
  queuesAlike({ dynamicBatching: batching === undefined ? undefined : makeBatching(batching) })(makeRequest(a), makeRequest(b));

describe('queuesAlike', () => {
  const levels = { priorityLevels: 3n, defaultPriorityLevel: 2n };

  it.each([
    { a: 1n, b: 1n, isAlike: true },
    { a: 1n, b: 2n, isAlike: false },
    { a: 0n, b: 2n, isAlike: true },
    { a: 4n, b: 2n, isAlike: true },
    { a: 4n, b: 0n, isAlike: true },
    { a: 3n, b: 2n, isAlike: false },
    { a: 3n, b: 0n, isAlike: false },
  ])('takes 0 and levels that there are not for the default one: $a and $b', ({ a, b, isAlike }) => {
    expect(alike(levels, { priority: a }, { priority: b })).toBe(isAlike);
  });

  it('takes no account of priorities without levels, nor of anything without batching', () => {
    expect(alike({}, { priority: 1n }, { priority: 2n })).toBe(true);
    expect(alike(undefined, { priority: 1n, timeoutMicroseconds: 1n }, { priority: 2n, timeoutMicroseconds: 2n })).toBe(true);
  });

  const may = makeQueuePolicy({ defaultTimeoutMs: 5, allowTimeoutOverride: true });
  it.each<[name: string, Partial<DynamicBatching>, isAlike: boolean]>([
    ['no time-out may be shortened', {}, true],
    ['there is none', { defaultQueuePolicy: makeQueuePolicy({ allowTimeoutOverride: true }) }, true],
    ['requests may not', { defaultQueuePolicy: makeQueuePolicy({ defaultTimeoutMs: 5 }) }, true],
    ['requests may', { defaultQueuePolicy: may }, false],
    ['requests of some level may', { ...levels, queuePolicies: new Map([[3n, may]]) }, false],
  ])('tells time-outs apart where they count: %s', (_, batching, isAlike) => {
    expect(alike(batching, { timeoutMicroseconds: 1n }, { timeoutMicroseconds: 2n })).toBe(isAlike);
    expect(alike(batching, { timeoutMicroseconds: 2n }, { timeoutMicroseconds: 2n })).toBe(true);
  });
});
