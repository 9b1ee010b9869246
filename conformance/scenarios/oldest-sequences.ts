import { inTurn, reporter, type Scenario } from '../scenario.ts';
import { interleaved, long, sequential, step } from './sequence-steps.ts';

const candidates = (rows: number, fields: string): string => sequential(rows, `${long} oldest { ${fields} }`);

export const oldestSequences: readonly Scenario[] = [
  {
    name: 'sequence oldest: two take turns',
    models: [reporter('oldest_two', candidates(4, 'max_candidate_sequences: 4'))],
    asks: interleaved('oldest_two'),
  },
  {
    name: 'sequence oldest: one request of each at a time',
    models: [
      reporter('oldest_each', candidates(8, 'max_candidate_sequences: 4 preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 250000')),
    ],
    asks: [
      step('oldest_each', 9, 'begin', 0, 'first', { waitMs: 700 }),
      ...['a0', 'a1', 'b0', 'c0', 'b1', 'a2'].map((id, index) => {
        const sequence = { a: 1, b: 2, c: 3 }[id.slice(0, 1)] ?? 0;
        return step('oldest_each', sequence, id.endsWith('0') ? 'begin' : 'step', 350 + 30 * index, id, { waitMs: 100 });
      }),
    ],
  },
  {
    name: 'sequence oldest: delay and preferred sizes',
    models: [
      reporter(
        'oldest_delay',
        candidates(8, 'max_candidate_sequences: 4 preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 500000'),
      ),
    ],
    asks: [
      step('oldest_delay', 1, 'begin', 0, 'a0'),
      step('oldest_delay', 2, 'begin', 100, 'b0'),
      step('oldest_delay', 3, 'begin', 200, 'c0'),
      step('oldest_delay', 1, 'end', 400, 'a1'),
      step('oldest_delay', 2, 'end', 500, 'b1'),
    ],
  },
  {
    name: 'sequence oldest: a third waits for one of two candidates',
    models: [reporter('oldest_backlog', candidates(4, 'max_candidate_sequences: 2'))],
    asks: [
      step('oldest_backlog', 1, 'begin', 0, 'a0'),
      step('oldest_backlog', 2, 'begin', 100, 'b0'),
      step('oldest_backlog', 3, 'begin', 200, 'c0'),
      step('oldest_backlog', 3, 'end', 300, 'c1'),
      step('oldest_backlog', 2, 'end', 500, 'b1'),
      step('oldest_backlog', 1, 'end', 700, 'a1'),
    ],
  },
  {
    name: 'sequence oldest: a time-out in the backlog',
    models: [reporter('oldest_expires', candidates(4, 'max_candidate_sequences: 1'))],
    asks: [
      step('oldest_expires', 1, 'begin', 0, 'a0'),
      step('oldest_expires', 2, 'begin', 100, 'b0', { parameters: { timeout: 400_000 } }),
      step('oldest_expires', 2, 'step', 200, 'b1'),
      step('oldest_expires', 1, 'end', 1000, 'a1'),
    ],
  },
  {
    name: 'sequence oldest: idle, and its next request',
    models: [reporter('oldest_idle', sequential(4, 'max_sequence_idle_microseconds: 400000 oldest { max_candidate_sequences: 1 }'))],
    asks: [step('oldest_idle', 1, 'begin', 0, 'a0'), step('oldest_idle', 2, 'begin', 100, 'b0'), step('oldest_idle', 1, 'step', 900, 'a1')],
  },
  {
    name: 'sequence oldest: START of one that runs',
    models: [reporter('oldest_again', candidates(4, 'max_candidate_sequences: 2'))],
    asks: inTurn([
      step('oldest_again', 1, 'begin', 0, 'a0'),
      step('oldest_again', 1, 'begin', 100, 'b0'),
      step('oldest_again', 1, 'end', 200, 'b1'),
      step('oldest_again', 1, 'step', 350, 'lost'),
    ]),
  },
];
