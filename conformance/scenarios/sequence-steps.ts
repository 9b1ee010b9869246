import { type Ask, type AskOptions, askReporter, inTurn } from '../scenario.ts';

export const allControls = (kind: string, values: string, corrid: string): string => `control_input [
    { name: "START" control { kind: CONTROL_SEQUENCE_START ${kind}: [ ${values} ] } },
    { name: "END" control { kind: CONTROL_SEQUENCE_END ${kind}: [ ${values} ] } },
    { name: "READY" control { kind: CONTROL_SEQUENCE_READY ${kind}: [ ${values} ] } },
    { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_${corrid} } }
  ]`;

const controls = allControls('int32_false_true', '0, 1', 'UINT64');

export const sequential = (rows: number, fields: string, more = controls): string =>
  `max_batch_size: ${rows}\nsequence_batching { ${fields} ${more} }`;

/** `begin`, `step`, `end`, or `whole`: both in one. */
type Step = 'begin' | 'step' | 'end' | 'whole';

export const step = (model: string, sequence: number | string, kind: Step, atMs: number, id: string, options: AskOptions = {}): Ask =>
  askReporter(model, id, atMs, {
    ...options,
    parameters: {
      sequence_id: sequence,
      ...(kind === 'begin' || kind === 'whole' ? { sequence_start: true } : {}),
      ...(kind === 'end' || kind === 'whole' ? { sequence_end: true } : {}),
      ...options.parameters,
    },
  });

/** Two sequences that take turns. */
export const interleaved = (model: string): readonly Ask[] =>
  inTurn([
    step(model, 1, 'begin', 0, 'a0'),
    step(model, 2, 'begin', 100, 'b0'),
    step(model, 1, 'step', 200, 'a1'),
    step(model, 2, 'step', 300, 'b1'),
    step(model, 1, 'end', 400, 'a2'),
    step(model, 2, 'end', 500, 'b2'),
  ]);

export const long = 'max_sequence_idle_microseconds: 10000000';
