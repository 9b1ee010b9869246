import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { InferenceEvent } from '../../src/streams/inference/events.ts';
import type { ModelStatistics } from '../../src/streams/inference/statistics.ts';
import { createStatistics } from '../../src/telemetry/statistics.ts';
import { propertyParameters } from '../parameters.ts';

const model = fc.constantFrom('a', 'b');
const version = fc.constantFrom('1', '2');
const ms = fc.double({ min: 0, max: 1e5, noNaN: true });

const event: fc.Arbitrary<InferenceEvent> = fc.oneof(
  fc.record({
    kind: fc.constant('request-ended' as const),
    model,
    version,
    failure: fc.constantFrom(undefined, 'REJECTED' as const, 'CANCELED' as const, 'BACKEND' as const, 'OTHER' as const),
    durationMs: ms,
  }),
  fc.record({
    kind: fc.constant('batch-executed' as const),
    model,
    version,
    rows: fc.integer({ min: 1, max: 40 }),
    succeeded: fc.integer({ min: 1, max: 8 }),
    succeededRows: fc.integer({ min: 1, max: 40 }),
    queueMs: ms,
    computeInputMs: ms,
    computeInferMs: ms,
    computeOutputMs: ms,
    endedAtMs: fc.integer({ min: 0, max: 2 ** 41 }),
  }),
  fc.record({ kind: fc.constant('cache-missed' as const), model, version, lookupMs: ms, insertMs: ms }),
  fc.record({
    kind: fc.constant('response-made' as const),
    model,
    version,
    index: fc.integer({ min: 0, max: 5 }),
    outcome: fc.constantFrom('success' as const, 'fail' as const, 'empty' as const, 'cancel' as const),
    computeInferMs: ms,
    computeOutputMs: ms,
  }),
);

const fold = (events: readonly InferenceEvent[], name: string, number: string): ModelStatistics => {
  const { sink, of } = createStatistics();
  for (const each of events) sink(each);
  return of(name, number);
};

/** Every number of the document by its path; batch sizes are part of the path. */
const numbers = (statistics: ModelStatistics): Map<string, number> => {
  const found = new Map<string, number>([
    ['inference_count', statistics.inference_count],
    ['execution_count', statistics.execution_count],
  ]);
  for (const [key, { count, ns }] of Object.entries(statistics.inference_stats)) found.set(`${key}.count`, count).set(`${key}.ns`, ns);
  for (const [index, durations] of Object.entries(statistics.response_stats)) {
    for (const [key, { count, ns }] of Object.entries(durations)) {
      found.set(`response ${index}.${key}.count`, count).set(`response ${index}.${key}.ns`, ns);
    }
  }
  for (const { batch_size, ...durations } of statistics.batch_stats) {
    for (const [key, { count, ns }] of Object.entries(durations)) {
      found.set(`${batch_size}.${key}.count`, count).set(`${batch_size}.${key}.ns`, ns);
    }
  }
  return found;
};

// Kills: rounding the sum in place of each duration; a sink that looks at one version for another; `=` in place of `+=` anywhere.
it('folding two runs of events is adding what each gives, whatever came between', () => {
  fc.assert(
    fc.property(fc.array(event), fc.array(event), model, version, (first, second, name, number) => {
      const sum = numbers(fold(first, name, number));
      for (const [key, value] of numbers(fold(second, name, number))) sum.set(key, (sum.get(key) ?? 0) + value);
      const interleaved = [...first, ...second].toReversed();
      expect(numbers(fold(interleaved, name, number))).toEqual(sum);
      const last = Math.max(fold(first, name, number).last_inference, fold(second, name, number).last_inference);
      expect(fold(interleaved, name, number).last_inference).toBe(last);
    }),
    propertyParameters(),
  );
});

// Kills: batch sizes in order of arrival; an execution filed under no size or under two.
it('batch sizes ascend and their counts add up to the executions', () => {
  fc.assert(
    fc.property(fc.array(event), model, version, (events, name, number) => {
      const { batch_stats, execution_count } = fold(events, name, number);
      const sizes = batch_stats.map((entry) => entry.batch_size);
      expect(sizes).toEqual([...new Set(sizes)].sort((a, b) => a - b));
      expect(batch_stats.reduce((sum, entry) => sum + entry.compute_infer.count, 0)).toBe(execution_count);
    }),
    propertyParameters(),
  );
});
