import { describe, expect, it } from 'vitest';
import { LocalCache } from '../../../src/caches/local/local-cache.ts';
import type { InferenceEvent } from '../../../src/streams/inference/events.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { CachedModel } from '../../support/cached-model.ts';
import { makeLog, makeRequest, makeSpec } from '../../support/model.ts';

/** Each look at it is a millisecond later than the one before. */
const ticking = (startMs: number) => {
  let nowMs = startMs;
  return { now: () => nowMs++ };
};

describe('CacheReports', () => {
  it('adds up what looking and inserting took', () => {
    const cache = new LocalCache({ sizeBytes: 10_000, log: makeLog() });
    const model = new CachedModel({ cache, scheduler: ticking(100) });
    for (const fill of [1, 2]) {
      model.ask(makeRequest({}, [1, 4], fill));
      model.last.answer([1]);
    }
    model.ask(makeRequest({}, [1, 4], 1));
    expect(cache.tally).toEqual({ lookups: 3, hits: 1, misses: 2, lookupMs: 3, insertMs: 2 });
    expect(model.events.map((event) => ('lookupMs' in event ? event.lookupMs : undefined))).toEqual([1, 1, 1]);
  });

  it('tells how long who joined has waited', () => {
    const events: InferenceEvent[] = [];
    const model = new CachedModel({ scheduler: ticking(100), sink: (event) => events.push(event) });
    model.ask(makeRequest({}));
    model.ask(makeRequest({}));
    model.last.answer([1]);
    expect(events.map((event) => (event.kind === 'cache-answered' ? event.queueMs : undefined))).toEqual([undefined, 3]);
  });

  it('warns once of answers that are too large, not where others leave no room', () => {
    const log = makeLog();
    const cache = new LocalCache({ sizeBytes: 1000, log: makeLog() });
    const model = new CachedModel({ cache, log, spec: makeSpec({ decoupled: true }) });
    const answer = (bytes: number, isLast = true): void => {
      model.ask(makeRequest({}, [1, 4], bytes % 251));
      const outputs = new Map([['OUT', new Tensor('UINT8', [bytes], new Uint8Array(bytes + 10), 5, bytes + 5)]]);
      model.last.answer([], { outputs, isLast });
    };
    answer(1, false);
    answer(cache.largestEntryBytes);
    expect(log.lines).toEqual([]);
    for (const more of [1, 2]) answer(cache.largestEntryBytes + more);
    expect(log.lines).toEqual([expect.stringContaining('Requested byte_size: 1001 is greater')]);
  });
});
