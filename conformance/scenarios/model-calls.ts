import { type Ask, pythonModel, repeater, reporter, type Scenario, type ScenarioModel, signature, text } from '../scenario.ts';
import { ensemble, repeatedRows, reportTensor, told } from './ensemble-models.ts';

interface Call {
  readonly model: string;
  readonly inputs: Readonly<
    Record<string, { readonly datatype: string; readonly shape: readonly number[]; readonly values: readonly number[] }>
  >;
  readonly outputs: readonly string[];
  readonly decoupled?: boolean;
  readonly request_id?: string;
  readonly correlation_id?: number;
  readonly flags?: number;
  readonly timeout?: number;
  readonly parameters?: Readonly<Record<string, number | string | boolean>>;
  readonly model_version?: number;
}

const plan = 'name: "PLAN" data_type: TYPE_STRING dims: [ 1 ]';

const caller = (name: string): ScenarioModel => pythonModel(name, 'caller', signature([plan], [reportTensor]));

const ask = (model: string, id: string, atMs: number, calls: readonly Call[], how: 'sync' | 'together' = 'sync'): Ask => ({
  atMs,
  id,
  model,
  inputs: { PLAN: text([1], JSON.stringify({ calls, how })) },
});

const one = (value: number, rows = true) => ({ datatype: 'int32', shape: rows ? [1, 1] : [1], values: [value] });

const toReporter = (model: string, waitMs: number, more: Partial<Call> = {}): Call => ({
  model,
  inputs: { WAIT: one(waitMs) },
  outputs: ['REPORT'],
  ...more,
});

const toRepeater = (model: string, count: number, more: Partial<Call> = {}): Call => ({
  model,
  inputs: { COUNT: one(count, false), WAIT: one(50, false) },
  outputs: ['OUT'],
  decoupled: true,
  ...more,
});

const start = 1;
const end = 2;

/** Models that call models. */
export const modelCalls: readonly Scenario[] = [
  {
    name: 'calls: one after another',
    models: [caller('in_turn'), reporter('in_turn_target', 'max_batch_size: 4\ndynamic_batching { }')],
    asks: [
      ask('in_turn', 'a', 0, [
        toReporter('in_turn_target', 50, { request_id: 'x' }),
        toReporter('in_turn_target', 50, { request_id: 'y' }),
      ]),
    ],
  },
  {
    name: 'calls: an id, parameters and a time-out of their own',
    models: [caller('own'), reporter('own_target', 'max_batch_size: 4')],
    asks: [
      ask('own', 'a', 0, [
        toReporter('own_target', 0),
        toReporter('own_target', 0, {
          request_id: 'mine',
          parameters: { text: 'x', number: 7, flag: true },
          timeout: 5_000_000,
          correlation_id: 12,
        }),
      ]),
    ],
  },
  {
    name: 'calls: steps of a sequence',
    models: [
      caller('stepping'),
      reporter(
        'stepping_target',
        'max_batch_size: 2\nsequence_batching { direct { } control_input [ { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } } ] }',
      ),
    ],
    asks: [
      ask('stepping', 'a', 0, [
        toReporter('stepping_target', 0, { correlation_id: 4, flags: start }),
        toReporter('stepping_target', 0, { correlation_id: 4 }),
        toReporter('stepping_target', 0, { correlation_id: 4, flags: end }),
        toReporter('stepping_target', 0, { correlation_id: 4 }),
        toReporter('stepping_target', 0),
      ]),
    ],
  },
  {
    name: 'calls: two at once share a batch',
    models: [caller('at_once'), reporter('at_once_target', 'max_batch_size: 4\ndynamic_batching { max_queue_delay_microseconds: 300000 }')],
    asks: [ask('at_once', 'a', 0, [toReporter('at_once_target', 0), toReporter('at_once_target', 0)], 'together')],
    varies: /seen\.|together/,
  },
  {
    name: 'calls: what fails',
    models: [caller('failing'), reporter('failing_target', 'max_batch_size: 4'), repeater('failing_many')],
    asks: [
      ask('failing', 'a', 0, [
        toReporter('no_such_model', 0),
        toReporter('failing_target', 0, { model_version: 7 }),
        toReporter('failing_target', 0, { inputs: { OTHER: one(1) } }),
        toReporter('failing_target', 0, { inputs: { WAIT: one(1, false) } }),
        toReporter('failing_target', 0, { outputs: ['OTHER'] }),
        toReporter('failing_target', 0, { inputs: {} }),
        toReporter('failing_target', 0, { outputs: [] }),
        toReporter('failing_target', 0, { parameters: { fail: 'response' } }),
        toReporter('failing_target', 0, { parameters: { fail: 'raise' } }),
        { ...toRepeater('failing_many', 1), decoupled: false },
      ]),
    ],
  },
  {
    name: 'calls: many answers',
    models: [caller('many'), repeater('many_target')],
    asks: [
      ask('many', 'a', 0, [
        toRepeater('many_target', 3),
        toRepeater('many_target', 0),
        toRepeater('many_target', 2, { parameters: { final: 'last' } }),
      ]),
    ],
  },
  {
    name: 'calls: a decoupled call to a model that is not',
    models: [caller('not_many'), reporter('not_many_target', 'max_batch_size: 4')],
    asks: [ask('not_many', 'a', 0, [toReporter('not_many_target', 0, { decoupled: true })])],
  },
  {
    name: 'calls: many answers, async',
    models: [caller('many_async'), repeater('many_async_target')],
    asks: [ask('many_async', 'a', 0, [toRepeater('many_async_target', 2)], 'together')],
  },
  {
    name: 'calls: an ensemble',
    models: [caller('to_whole'), reporter('to_whole_target_1', 'max_batch_size: 1'), told('to_whole_target')],
    asks: [
      ask('to_whole', 'a', 0, [
        { ...toReporter('to_whole_target', 0), inputs: { IN: one(0) } },
        {
          ...toReporter('to_whole_target', 0, { request_id: 'mine', correlation_id: 3, parameters: { text: 'x' } }),
          inputs: { IN: one(0) },
        },
        { ...toReporter('to_whole_target', 0, { parameters: { fail: 'raise' } }), inputs: { IN: one(0) } },
      ]),
    ],
  },
  {
    name: 'calls: a decoupled ensemble',
    models: [caller('to_rows'), ...repeatedRows('to_rows_target', { add: '100' })],
    asks: [ask('to_rows', 'a', 0, [toRepeater('to_rows_target', 3), toRepeater('to_rows_target', 0)])],
  },
  {
    name: 'calls: by a step of an ensemble',
    models: [
      caller('by_step_1'),
      reporter('by_step_target', 'max_batch_size: 4'),
      repeater('by_step_many'),
      ensemble('by_step', signature([plan], [reportTensor]), [
        { model: 'by_step_1', inputs: { PLAN: 'PLAN' }, outputs: { REPORT: 'REPORT' } },
      ]),
    ],
    asks: [ask('by_step', 'a', 0, [toReporter('by_step_target', 0), toRepeater('by_step_many', 2)])],
  },
];
