import { type Ask, askReporter, reporter, type Scenario } from '../scenario.ts';

/** Held until all of them are there: the rule of batches without what comes first. */
const together = (name: string, model: string, config: string, rows: readonly number[]): Scenario => ({
  name: `held: ${name}`,
  models: [reporter(model, config)],
  asks: rows.map((count, index): Ask => askReporter(model, `r${index}`, 40 * index, { rows: count })),
});

/** The real one holds each scheduler until so many wait. */
export const heldRequests = 6;

const one = Array(heldRequests).fill(1);

export const holds: readonly Scenario[] = [
  together('none preferred', 'held_none', 'max_batch_size: 8\ndynamic_batching { }', one),
  together('a preferred size and the rest', 'held_four', 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4 ] }', one),
  together('the largest of two preferred sizes', 'held_two', 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 2, 5 ] }', one),
  together('more than a batch', 'held_more', 'max_batch_size: 4\ndynamic_batching { }', one),
  together('rows that do not fit', 'held_rows', 'max_batch_size: 8\ndynamic_batching { }', [3, 4, 2, 5, 1, 8]),
  together(
    'rows beyond a preferred size',
    'held_beyond',
    'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4 ] }',
    [3, 2, 6, 1, 1, 2],
  ),
  {
    name: 'held: priorities',
    models: [reporter('held_levels', 'max_batch_size: 2\ndynamic_batching { priority_levels: 3 default_priority_level: 2 }')],
    asks: [3, 2, 1, 3, 2, 1].map((priority, index) =>
      askReporter('held_levels', `r${index}-${priority}`, 40 * index, { waitMs: 100, parameters: { priority } }),
    ),
  },
  {
    name: 'held: sequences, direct',
    models: [
      reporter(
        'held_direct',
        'max_batch_size: 4\nsequence_batching { direct { } control_input [ { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } } ] }',
      ),
    ],
    asks: [1, 2, 3, 1, 2, 1].map((id, index, all) =>
      askReporter('held_direct', `r${index}`, 40 * index, {
        parameters: {
          sequence_id: id,
          ...(index < 3 ? { sequence_start: true } : {}),
          ...(all.lastIndexOf(id) === index ? { sequence_end: true } : {}),
        },
      }),
    ),
  },
];

/** And until so many sequences wait for a slot. */
export const heldSequences = 2;

export const backlogHolds: readonly Scenario[] = [
  {
    name: 'held: sequences, and others in the backlog',
    models: [
      reporter(
        'held_backlog',
        'max_batch_size: 2\nsequence_batching { direct { } control_input [ { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } } ] }',
      ),
    ],
    asks: [1, 1, 1, 2, 2, 2, 3, 4].map((id, index, all) =>
      askReporter('held_backlog', `r${index}`, 60 * index, {
        parameters: {
          sequence_id: id,
          sequence_start: all.indexOf(id) === index,
          sequence_end: all.lastIndexOf(id) === index,
        },
      }),
    ),
  },
];
