import { askReporter, reporter, type Scenario } from '../scenario.ts';

const policy = (fields: string): string => `max_batch_size: 4\ndynamic_batching { default_queue_policy { ${fields} } }`;

/** Priorities, time-outs and limits of waiting requests. */
export const queuePolicies: readonly Scenario[] = [
  {
    name: 'queue: size, exactly as many as fit',
    models: [reporter('size', policy('max_queue_size: 3'))],
    asks: [
      askReporter('size', 'first', 0, { waitMs: 600 }),
      ...Array.from({ length: 7 }, (_, index) => askReporter('size', `r${index}`, 120 + 30 * index, { waitMs: 100 })),
    ],
  },
  {
    name: 'queue: size counts requests, not rows',
    models: [reporter('size_rows', policy('max_queue_size: 2'))],
    asks: [
      askReporter('size_rows', 'first', 0, { waitMs: 500 }),
      ...Array.from({ length: 4 }, (_, index) => askReporter('size_rows', `r${index}`, 120 + 30 * index, { waitMs: 100, rows: 2 })),
    ],
  },
  {
    name: 'queue: time-out, refused',
    models: [reporter('reject', policy('timeout_action: REJECT default_timeout_microseconds: 200000'))],
    asks: [
      askReporter('reject', 'first', 0, { waitMs: 1500 }),
      askReporter('reject', 'a', 100),
      askReporter('reject', 'b', 200),
      askReporter('reject', 'late', 1800),
    ],
  },
  {
    name: 'queue: time-out, delayed behind the others',
    models: [
      reporter(
        'delay',
        'max_batch_size: 1\ndynamic_batching { default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 300000 } }',
      ),
    ],
    asks: [
      askReporter('delay', 'first', 0, { waitMs: 700 }),
      askReporter('delay', 'a', 100, { waitMs: 120 }),
      askReporter('delay', 'b', 150, { waitMs: 120 }),
      askReporter('delay', 'c', 550, { waitMs: 120 }),
    ],
  },
  {
    name: 'queue: time-out, a request shortens its own',
    models: [reporter('override', policy('timeout_action: REJECT default_timeout_microseconds: 3000000 allow_timeout_override: true'))],
    asks: [
      askReporter('override', 'first', 0, { waitMs: 1200 }),
      askReporter('override', 'short', 100, { parameters: { timeout: 100_000 } }),
      askReporter('override', 'long', 150, { waitMs: 150, parameters: { timeout: 9_000_000 } }),
      askReporter('override', 'none', 200, { waitMs: 150 }),
    ],
  },
  {
    name: 'queue: time-out, none to override',
    models: [reporter('override_none', policy('timeout_action: REJECT allow_timeout_override: true'))],
    asks: [
      askReporter('override_none', 'first', 0, { waitMs: 1000 }),
      askReporter('override_none', 'a', 100, { waitMs: 150, parameters: { timeout: 100_000 } }),
    ],
  },
  {
    name: 'queue: time-out, not to be overridden',
    models: [reporter('override_not', policy('timeout_action: REJECT default_timeout_microseconds: 3000000'))],
    asks: [
      askReporter('override_not', 'first', 0, { waitMs: 1000 }),
      askReporter('override_not', 'a', 100, { waitMs: 150, parameters: { timeout: 100_000 } }),
    ],
  },
  {
    name: 'queue: priorities, the most urgent first',
    models: [reporter('urgent', 'max_batch_size: 1\ndynamic_batching { priority_levels: 3 default_priority_level: 2 }')],
    asks: [
      askReporter('urgent', 'first', 0, { waitMs: 600 }),
      ...[3, undefined, 1, 0, 9, 2, 1].map((priority, index) =>
        askReporter('urgent', `r${index}-${priority}`, 100 + 40 * index, {
          waitMs: 120,
          ...(priority === undefined ? {} : { parameters: { priority } }),
        }),
      ),
    ],
  },
  {
    name: 'queue: priorities, one batch of several levels',
    models: [reporter('levels', 'max_batch_size: 4\ndynamic_batching { priority_levels: 3 default_priority_level: 3 }')],
    asks: [
      askReporter('levels', 'first', 0, { waitMs: 600 }),
      ...[3, 2, 1, 3, 1, 2].map((priority, index) =>
        askReporter('levels', `r${index}-${priority}`, 100 + 40 * index, { waitMs: 120, parameters: { priority } }),
      ),
    ],
  },
  {
    name: 'queue: priorities, a policy of each level',
    models: [
      reporter(
        'level_policy',
        `max_batch_size: 1
dynamic_batching {
  priority_levels: 2 default_priority_level: 2
  default_queue_policy { max_queue_size: 3 }
  priority_queue_policy { key: 1 value { max_queue_size: 1 } }
}`,
      ),
    ],
    asks: [
      askReporter('level_policy', 'first', 0, { waitMs: 600 }),
      ...[1, 1, 2, 2, 2, 2].map((priority, index) =>
        askReporter('level_policy', `r${index}-${priority}`, 120 + 40 * index, { waitMs: 100, parameters: { priority } }),
      ),
    ],
  },
  {
    name: 'queue: priorities without levels',
    models: [reporter('no_levels', 'max_batch_size: 1\ndynamic_batching { default_queue_policy { max_queue_size: 9 } }')],
    asks: [
      askReporter('no_levels', 'first', 0, { waitMs: 500 }),
      ...[3, 1, 2].map((priority, index) =>
        askReporter('no_levels', `r${index}`, 100 + 40 * index, { waitMs: 100, parameters: { priority } }),
      ),
    ],
  },
  {
    name: 'queue: priorities, one that overtakes a batch that waits for its delay',
    models: [
      reporter(
        'overtake',
        'max_batch_size: 4\ndynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 700000 priority_levels: 2 default_priority_level: 2 }',
      ),
    ],
    asks: [
      askReporter('overtake', 'a', 0, { rows: 2 }),
      askReporter('overtake', 'b', 100, { rows: 1 }),
      askReporter('overtake', 'c', 200, { rows: 2, parameters: { priority: 1 } }),
    ],
  },
];
