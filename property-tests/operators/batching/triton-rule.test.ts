import fc from 'fast-check';
import { expect, it } from 'vitest';
import { batchingSetting } from '../../arbitraries/batching-setting.ts';
import type { BatchingSetting } from '../../models/batching-setting.ts';
import { policyOf } from '../../models/batching-setting.ts';
import { BatchingWorld } from '../../models/batching-world.ts';
import type { RulePolicy } from '../../models/triton-rule.ts';
import { TritonRule } from '../../models/triton-rule.ts';
import { propertyParameters } from '../../parameters.ts';

const microseconds = (ms: number): number => Math.round(ms * 1000);

const ruleFor = (setting: BatchingSetting): TritonRule => {
  const { maxBatchSize, preferredBatchSizes, maxQueueDelayMs = 0, instances, policies, defaultLevel } = setting;
  const levels = defaultLevel === 0 ? [0] : policies.map((_, index) => index + 1);
  return new TritonRule({
    maxBatchSize,
    preferredBatchSizes,
    delayUs: microseconds(maxQueueDelayMs),
    instances,
    priorityLevels: defaultLevel === 0 ? 0 : policies.length,
    defaultPriorityLevel: defaultLevel,
    policies: new Map(
      levels.map((level): [number, RulePolicy] => {
        const { defaultTimeoutMs, ...policy } = policyOf(setting, level);
        return [level, { ...policy, defaultTimeoutUs: microseconds(defaultTimeoutMs) }];
      }),
    ),
  });
};

type Step = fc.Command<TritonRule, BatchingWorld>;

/** Each ends with the tick. */
const step = (name: string, run: (rule: TritonRule, world: BatchingWorld) => void): Step => ({
  check: () => true,
  run: (rule, world) => {
    run(rule, world);
    world.time.advance(0);
    const seen = (what: string): string => `${name}: ${what}`;
    expect(world.batches, seen('batches')).toEqual(rule.batches);
    expect(
      world.waiting.map(({ n }) => n),
      seen('waiting'),
    ).toEqual(rule.waiting);
    expect(world.numbersOf('over limit'), seen('over limit')).toEqual(rule.overLimit);
    expect(world.numbersOf('timed out'), seen('timed out')).toEqual(rule.expired.toSorted((a, b) => a - b));
    expect(world.faults).toEqual([]);
  },
  toString: () => name,
});

const arrival = fc.record({
  rows: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 8 })),
  width: fc.constantFrom(1, 1, 1, 2),
  priority: fc.constantFrom(0, 0, 1, 2, 3, 4),
  timeoutMs: fc.constantFrom(0, 0, 0.25, 1, 4, 30),
});

const small = fc.nat(20);

const steps = [
  arrival.map(({ rows: wanted, width, priority, timeoutMs }) =>
    step(`arrive(${wanted} rows of ${width}, priority ${priority}, time-out ${timeoutMs} ms)`, (rule, world) => {
      const n = world.asked.length;
      const rows = Math.min(wanted, world.setting.maxBatchSize);
      world.arrive({ rows, width, priority, timeoutMs });
      rule.enqueue({ n, rows, shape: width, priority, timeoutUs: microseconds(timeoutMs) });
    }),
  ),
  // Multiples of a quarter, which sums of floating point keep exact.
  fc.constantFrom(0.25, 0.5, 1, 2.5, 7, 40).map((ms) =>
    step(`${ms} ms pass`, (rule, world) => {
      world.time.advance(ms);
      rule.advance(microseconds(ms));
    }),
  ),
  small.map((index) =>
    step(`batch ${index} finishes`, (rule, world) => {
      const run = world.runs[index % Math.max(1, world.runs.length)];
      if (run === undefined) return;
      run.finish();
      rule.instanceFree();
    }),
  ),
  small.map((index) =>
    step(`cancel(${index} of those that wait)`, (rule, world) => {
      const asked = world.waiting[index % Math.max(1, world.waiting.length)];
      if (asked === undefined) return;
      asked.cancel();
      rule.cancel(asked.n);
    }),
  ),
];

// Mutants that it kills, each tried: those in `plan-batch`, `priority-lane`, `deadlines`, `queue-policy` and `buffer-when-free` that the property of
// batching.test.ts kills; in `plan-batch` also preferred sizes that count after the delay, and the last excess of the largest preferred size for the
// first. (A deadline that is reached for one that is past changes nothing here: the alarm rings a tick later.)
it('makes the batches that the rule makes, step by step', () => {
  fc.assert(
    fc.property(batchingSetting, fc.commands(steps, { maxCommands: 60, size: 'max' }), (chosen, commands) => {
      const setting = { ...chosen, capacity: 1 };
      const world = new BatchingWorld(setting);
      fc.modelRun(() => ({ model: ruleFor(setting), real: world }), commands);
      world.stop();
    }),
    propertyParameters(),
  );
});
