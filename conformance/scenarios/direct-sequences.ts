import { askReporter, inTurn, int32, reporter, type Scenario } from '../scenario.ts';
import { allControls, interleaved, long, sequential, step } from './sequence-steps.ts';

const values = 'name: "VALUES" data_type: TYPE_INT32 dims: [ -1 ]';

export const directSequences: readonly Scenario[] = [
  ...[
    ['int32', 'int32_false_true', '0, 1', 'UINT64'],
    ['fp32', 'fp32_false_true', '-1, 2.5', 'INT64'],
    ['bool', 'bool_false_true', 'false, true', 'UINT32'],
    ['swapped', 'int32_false_true', '7, -7', 'INT32'],
  ].map(
    ([name = '', kind = '', given = '', corrid = '']): Scenario => ({
      name: `sequence direct: controls, ${name} and ${corrid}`,
      models: [reporter(`direct_${name}`, sequential(4, `${long} direct { }`, allControls(kind, given, corrid)))],
      asks: interleaved(`direct_${name}`),
    }),
  ),
  {
    name: 'sequence direct: no controls at all',
    models: [reporter('direct_bare', sequential(2, `${long} direct { }`, ''))],
    asks: inTurn([
      step('direct_bare', 1, 'begin', 0, 'a0'),
      step('direct_bare', 2, 'whole', 0, 'b0'),
      step('direct_bare', 1, 'end', 0, 'a1'),
    ]),
  },
  {
    name: 'sequence direct: rows without a request are filled up to the highest that is ready',
    models: [reporter('direct_rows', sequential(4, `${long} direct { }`))],
    asks: inTurn([
      ...[1, 2, 3, 4].map((id) => step('direct_rows', id, 'begin', 80 * id - 80, `s${id}`)),
      step('direct_rows', 3, 'step', 400, 'third'),
      step('direct_rows', 1, 'step', 500, 'one'),
      step('direct_rows', 4, 'end', 600, 'four'),
      step('direct_rows', 9, 'whole', 700, 'nine'),
      step('direct_rows', 2, 'end', 800, 'two'),
    ]),
  },
  {
    name: 'sequence direct: requests of sequences that wait for a busy instance',
    models: [reporter('direct_busy', sequential(4, `${long} direct { }`))],
    asks: [
      step('direct_busy', 1, 'begin', 0, 'a0', { waitMs: 500 }),
      step('direct_busy', 2, 'begin', 100, 'b0'),
      step('direct_busy', 1, 'step', 140, 'a1', { waitMs: 100 }),
      step('direct_busy', 1, 'end', 180, 'a2'),
      step('direct_busy', 3, 'begin', 220, 'c0'),
      step('direct_busy', 2, 'end', 260, 'b1', { waitMs: 100 }),
      step('direct_busy', 3, 'end', 300, 'c1'),
    ],
  },
  {
    name: 'sequence direct: a third waits in the backlog of two slots',
    models: [reporter('direct_backlog', sequential(2, `${long} direct { }`))],
    asks: [
      step('direct_backlog', 1, 'begin', 0, 'a0'),
      step('direct_backlog', 2, 'begin', 100, 'b0'),
      step('direct_backlog', 3, 'begin', 200, 'c0'),
      step('direct_backlog', 3, 'end', 300, 'c1'),
      step('direct_backlog', 4, 'whole', 350, 'd0'),
      step('direct_backlog', 2, 'end', 500, 'b1'),
      step('direct_backlog', 1, 'end', 700, 'a1'),
    ],
  },
  {
    name: 'sequence direct: a time-out in the backlog',
    models: [reporter('direct_expires', sequential(1, `${long} direct { }`))],
    asks: [
      step('direct_expires', 1, 'begin', 0, 'a0'),
      step('direct_expires', 2, 'begin', 100, 'b0', { parameters: { timeout: 400_000 } }),
      step('direct_expires', 2, 'step', 200, 'b1'),
      step('direct_expires', 3, 'whole', 250, 'c0'),
      step('direct_expires', 2, 'step', 800, 'b2'),
      step('direct_expires', 1, 'end', 1000, 'a1'),
    ],
  },
  {
    name: 'sequence direct: one instance without batching',
    models: [reporter('direct_single', sequential(0, `${long} direct { }`))],
    asks: [
      step('direct_single', 1, 'begin', 0, 'a0', { rows: 0 }),
      step('direct_single', 2, 'whole', 100, 'b0', { rows: 0 }),
      step('direct_single', 1, 'end', 250, 'a1', { rows: 0 }),
    ],
  },
  {
    name: 'sequence direct: slots of two instances',
    models: [reporter('direct_two', `${sequential(2, `${long} direct { }`)}\ninstance_group [ { kind: KIND_CPU count: 2 } ]`)],
    asks: [
      ...inTurn([1, 2, 3, 4].map((id) => step('direct_two', id, 'begin', 0, `s${id}`))),
      { ...step('direct_two', 5, 'begin', 30, 's5'), after: 's4' },
      { ...step('direct_two', 4, 'end', 150, 'four'), after: 's4' },
      { ...step('direct_two', 1, 'end', 100, 'one'), after: 's5' },
    ],
    varies: /\.instance$/,
  },
  {
    name: 'sequence direct: START of one that runs',
    models: [reporter('direct_again', sequential(2, `${long} direct { }`))],
    asks: inTurn([
      step('direct_again', 1, 'begin', 0, 'a0'),
      step('direct_again', 1, 'step', 100, 'a1'),
      step('direct_again', 1, 'begin', 200, 'b0'),
      step('direct_again', 1, 'end', 300, 'b1'),
    ]),
  },
  {
    name: 'sequence direct: END, and the same id begins while it runs',
    models: [reporter('direct_reuse', sequential(2, `${long} direct { }`))],
    asks: [
      step('direct_reuse', 1, 'begin', 0, 'a0'),
      step('direct_reuse', 1, 'end', 100, 'a1', { waitMs: 500 }),
      step('direct_reuse', 1, 'step', 200, 'lost'),
      step('direct_reuse', 1, 'begin', 250, 'b0'),
      step('direct_reuse', 1, 'end', 300, 'b1'),
    ],
  },
  {
    name: 'sequence direct: idle, and its next request',
    models: [reporter('direct_idle', sequential(1, 'max_sequence_idle_microseconds: 400000 direct { }'))],
    asks: [
      step('direct_idle', 1, 'begin', 0, 'a0'),
      step('direct_idle', 2, 'begin', 100, 'b0'),
      step('direct_idle', 1, 'step', 900, 'a1'),
      step('direct_idle', 2, 'step', 950, 'b1'),
    ],
  },
  {
    name: 'sequence direct: refused at once',
    models: [reporter('direct_refused', sequential(2, `${long} direct { }`))],
    asks: inTurn([
      askReporter('direct_refused', 'none', 0),
      askReporter('direct_refused', 'zero', 60, { parameters: { sequence_id: 0, sequence_start: true } }),
      step('direct_refused', 7, 'step', 120, 'no-start'),
      step('direct_refused', 7, 'end', 180, 'end-alone'),
      step('direct_refused', 8, 'whole', 240, 'whole'),
      step('direct_refused', 8, 'step', 400, 'after-whole'),
    ]),
  },
  {
    name: 'sequence direct: ids that are strings',
    models: [reporter('direct_strings', sequential(2, `${long} direct { }`, ''))],
    asks: inTurn([
      step('direct_strings', 'one', 'begin', 0, 'a0'),
      step('direct_strings', 'two', 'begin', 100, 'b0'),
      step('direct_strings', 'one', 'end', 200, 'a1'),
      step('direct_strings', 'two', 'end', 300, 'b1'),
      step('direct_strings', 'three', 'step', 400, 'no-start'),
      step('direct_strings', '', 'begin', 450, 'empty'),
    ]),
  },
  {
    name: 'sequence direct: a string for a CORRID control',
    models: [reporter('direct_corrid', sequential(2, `${long} direct { }`, allControls('int32_false_true', '0, 1', 'STRING')))],
    asks: inTurn([step('direct_corrid', 'one', 'whole', 0, 'text'), step('direct_corrid', 5, 'whole', 200, 'number')]),
  },
  {
    name: 'sequence direct: minimum_slot_utilization waits for company',
    models: [
      reporter('direct_company', sequential(4, `${long} direct { max_queue_delay_microseconds: 500000 minimum_slot_utilization: 0.5 }`)),
    ],
    asks: [
      step('direct_company', 1, 'begin', 0, 'a0'),
      step('direct_company', 2, 'begin', 150, 'b0'),
      step('direct_company', 1, 'end', 400, 'a1'),
      step('direct_company', 2, 'end', 1200, 'b1'),
    ],
  },
  {
    name: 'sequence direct: shapes that differ run apart',
    models: [reporter('direct_shapes', sequential(2, `${long} direct { }`), [values])],
    asks: [
      step('direct_shapes', 1, 'begin', 0, 'a0', { waitMs: 400, inputs: { VALUES: int32([1, 2], 1, 2) } }),
      step('direct_shapes', 2, 'begin', 100, 'b0', { inputs: { VALUES: int32([1, 3], 1, 2, 3) } }),
      step('direct_shapes', 1, 'end', 150, 'a1', { waitMs: 100, inputs: { VALUES: int32([1, 2], 1, 2) } }),
      step('direct_shapes', 2, 'end', 200, 'b1', { inputs: { VALUES: int32([1, 3], 4, 5, 6) } }),
    ],
  },
  {
    name: 'sequence direct: an exception, and the sequence goes on',
    models: [reporter('direct_exception', sequential(2, `${long} direct { }`))],
    asks: inTurn([
      step('direct_exception', 1, 'begin', 0, 'a0'),
      step('direct_exception', 1, 'step', 150, 'a1', { parameters: { fail: 'raise' } }),
      step('direct_exception', 1, 'end', 350, 'a2'),
    ]),
  },
  {
    name: 'sequence direct: a burst on one stream keeps its order',
    models: [reporter('direct_burst', sequential(4, `${long} direct { }`))],
    asks: Array.from({ length: 12 }, (_, index) => {
      const first = index < 2 ? 'begin' : 'step';
      const options = { stream: 's', waitMs: index === 0 ? 500 : 0 };
      return step('direct_burst', 1 + (index % 2), index > 9 ? 'end' : first, index === 0 ? 0 : 250, `r${index}`, options);
    }),
  },
];
