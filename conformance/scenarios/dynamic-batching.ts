import { type Ask, askReporter, int32, reporter, type Scenario } from '../scenario.ts';

const values = 'name: "VALUES" data_type: TYPE_INT32 dims: [ -1 ]';

const ofValues = (model: string, id: string, atMs: number, count: number, waitMs = 0): Ask =>
  askReporter(model, id, atMs, { waitMs, inputs: { VALUES: int32([1, count], ...Array(count).fill(7)) } });

/** A first request that holds the only instance, and others, 30 ms apart, that wait for it. */
const behindOne = (model: string, count: number, rows: readonly number[] = []): readonly Ask[] => [
  askReporter(model, 'first', 0, { waitMs: 500 }),
  ...Array.from({ length: count }, (_, index) =>
    askReporter(model, `r${index}`, 100 + 30 * index, { waitMs: 100, rows: rows[index] ?? 1 }),
  ),
];

const arrivals = (model: string, count: number, gapMs: number, rows: readonly number[] = []): readonly Ask[] =>
  Array.from({ length: count }, (_, index) => askReporter(model, `r${index}`, gapMs * index, { rows: rows[index] ?? 1 }));

export const dynamicBatching: readonly Scenario[] = [
  {
    name: 'batching: none, requests run alone',
    models: [reporter('alone', 'max_batch_size: 8')],
    asks: behindOne('alone', 3),
  },
  {
    name: 'batching: without batch dimension',
    models: [reporter('no_rows', 'max_batch_size: 0\ndynamic_batching { }')],
    asks: ['a', 'b', 'c'].map((id, index) => askReporter('no_rows', id, 40 * index, { waitMs: 150, rows: 0 })),
  },
  {
    name: 'batching: what waits for a busy instance goes together',
    models: [reporter('busy', 'max_batch_size: 8\ndynamic_batching { }')],
    asks: behindOne('busy', 5),
  },
  {
    name: 'batching: more waits than one batch takes',
    models: [reporter('full', 'max_batch_size: 4\ndynamic_batching { }')],
    asks: behindOne('full', 6),
  },
  {
    name: 'batching: a preferred size without delay',
    models: [reporter('preferred', 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4 ] }')],
    asks: behindOne('preferred', 5),
  },
  {
    name: 'batching: two instances',
    models: [reporter('two', 'max_batch_size: 4\ndynamic_batching { }\ninstance_group [ { kind: KIND_CPU count: 2 } ]')],
    asks: Array.from({ length: 6 }, (_, index) => askReporter('two', `r${index}`, 40 * index, { waitMs: 400 })),
    varies: /\.instance$/,
  },
  {
    name: 'batching: delay, one waits it out',
    models: [reporter('delay_one', 'max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 400000 }')],
    asks: arrivals('delay_one', 1, 100),
  },
  {
    name: 'batching: delay, all that came within it',
    models: [reporter('delay_some', 'max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 400000 }')],
    asks: arrivals('delay_some', 6, 100),
  },
  {
    name: 'batching: delay, a full batch goes at once',
    models: [reporter('delay_full', 'max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 900000 }')],
    asks: arrivals('delay_full', 5, 40),
  },
  {
    name: 'batching: delay, preferred sizes',
    models: [
      reporter(
        'delay_sizes',
        'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 2, 6 ] max_queue_delay_microseconds: 500000 }',
      ),
    ],
    asks: arrivals('delay_sizes', 5, 100),
  },
  {
    name: 'batching: delay, rows of several requests',
    models: [
      reporter('delay_rows', 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 6 ] max_queue_delay_microseconds: 500000 }'),
    ],
    asks: arrivals('delay_rows', 5, 60, [2, 4, 3, 5, 1]),
  },
  {
    name: 'batching: delay, the next one exceeds the preferred size',
    models: [
      reporter('delay_exceed', 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 500000 }'),
    ],
    asks: arrivals('delay_exceed', 3, 60, [3, 2, 1]),
  },
  {
    name: 'batching: delay, one larger than any preferred size',
    models: [
      reporter('delay_large', 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 800000 }'),
    ],
    asks: arrivals('delay_large', 2, 60, [6, 1]),
  },
  {
    name: 'batching: delay, exceeded while the instance is busy',
    models: [
      reporter('delay_busy', 'max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 400000 }'),
    ],
    asks: [
      askReporter('delay_busy', 'first', 0, { waitMs: 1000, rows: 4 }),
      ...arrivals('delay_busy', 6, 40).map((ask) => ({ ...ask, atMs: ask.atMs + 100 })),
    ],
  },
  {
    name: 'batching: another shape ends a batch',
    models: [reporter('shapes', 'max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 500000 }', [values])],
    asks: [2, 2, 3, 3, 2].map((count, index) => ofValues('shapes', `r${index}`, 150 * index, count)),
  },
  {
    name: 'batching: ragged inputs share one',
    models: [
      reporter('ragged', 'max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 500000 }', [
        `${values} allow_ragged_batch: true`,
      ]),
    ],
    asks: [2, 2, 3, 3, 2].map((count, index) => ofValues('ragged', `r${index}`, 60 * index, count)),
  },
  {
    name: 'batching: optional inputs, equal sets go together',
    models: [
      reporter('optional', 'max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 500000 }', [
        'name: "EXTRA" data_type: TYPE_INT32 dims: [ 1 ] optional: true',
      ]),
    ],
    asks: [true, true, false, false, true].map((has, index) =>
      askReporter('optional', `r${index}`, 150 * index, has ? { inputs: { EXTRA: int32([1, 1], index) } } : {}),
    ),
  },
  {
    name: 'batching: one error among answers',
    models: [reporter('one_error', 'max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 300000 }')],
    asks: ['a', 'b', 'c'].map((id, index) =>
      askReporter('one_error', id, 50 * index, id === 'b' ? { parameters: { fail: 'response' } } : {}),
    ),
  },
  {
    name: 'batching: an exception fails the batch',
    models: [reporter('exception', 'max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 300000 }')],
    asks: [
      ...['a', 'b'].map((id, index) => askReporter('exception', id, 50 * index, id === 'b' ? { parameters: { fail: 'raise' } } : {})),
      askReporter('exception', 'c', 600),
    ],
  },
  {
    name: 'batching: too few answers fail the batch',
    models: [reporter('short', 'max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 300000 }')],
    asks: [
      ...['a', 'b'].map((id, index) => askReporter('short', id, 50 * index, id === 'b' ? { parameters: { fail: 'short' } } : {})),
      askReporter('short', 'c', 600),
    ],
  },
  {
    name: 'batching: a caller who leaves the queue',
    models: [reporter('leaves', 'max_batch_size: 4\ndynamic_batching { default_queue_policy { max_queue_size: 10 } }')],
    asks: [
      askReporter('leaves', 'first', 0, { waitMs: 600 }),
      askReporter('leaves', 'a', 100),
      askReporter('leaves', 'b', 150, { cancelAtMs: 300 }),
      askReporter('leaves', 'c', 200),
    ],
  },
  {
    name: 'batching: preserve_ordering over two instances',
    models: [
      reporter(
        'ordered',
        'max_batch_size: 1\ndynamic_batching { preserve_ordering: true }\ninstance_group [ { kind: KIND_CPU count: 2 } ]',
      ),
    ],
    asks: [500, 50, 50, 50].map((waitMs, index) => askReporter('ordered', `r${index}`, 60 * index, { waitMs })),
    varies: /\.instance$/,
  },
  {
    name: 'batching: no preserve_ordering over two instances',
    models: [reporter('unordered', 'max_batch_size: 1\ndynamic_batching { }\ninstance_group [ { kind: KIND_CPU count: 2 } ]')],
    asks: [500, 50, 50].map((waitMs, index) => askReporter('unordered', `r${index}`, 120 * index, { waitMs })),
    varies: /\.instance$/,
  },
];
