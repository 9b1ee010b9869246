import { askReporter, reporter, type Scenario, type ScenarioModel } from '../scenario.ts';

const value = 'name: "VALUE" data_type: TYPE_INT32 dims: [ -1 ]';
const wait = 'inputs { key: "WAIT" value { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } }';

const warmed = (name: string, samples: string, inputs: readonly string[] = [], files: ScenarioModel['files'] = {}): ScenarioModel => {
  const model = reporter(name, `max_batch_size: 4\nmodel_warmup [ ${samples} ]`, inputs);
  return { ...model, files: { ...model.files, ...files } };
};

const ofValue = (fields: string): string => `inputs { key: "VALUE" value { ${fields} } }`;

const telling = (name: string, model: ScenarioModel, hasValue = false): Scenario => ({
  name: `warm-up: ${name}`,
  models: [model],
  asks: hasValue ? [] : [askReporter(model.name, 'after', 0, { parameters: { history: true } })],
});

const bytes = Buffer.from(Int32Array.of(5, 6, 7).buffer);

export const warmUp: readonly Scenario[] = [
  telling('zeros, several rows, several times', warmed('warm_rows', `{ name: "zeros" batch_size: 3 count: 2 ${wait} }`)),
  telling('two samples', warmed('warm_two', `{ name: "one" batch_size: 1 ${wait} }, { name: "two" batch_size: 2 ${wait} }`)),
  telling('no rows', warmed('warm_none', `{ name: "none" batch_size: 0 ${wait} }`)),
  telling(
    'a file',
    warmed(
      'warm_file',
      `{ name: "file" batch_size: 1 ${wait} ${ofValue('data_type: TYPE_INT32 dims: [ 3 ] input_data_file: "values"')} }`,
      [value],
      { 'warmup/values': bytes },
    ),
    true,
  ),
  telling(
    'a file that is too short',
    warmed(
      'warm_short',
      `{ name: "short" batch_size: 1 ${wait} ${ofValue('data_type: TYPE_INT32 dims: [ 4 ] input_data_file: "values"')} }`,
      [value],
      { 'warmup/values': bytes },
    ),
    true,
  ),
  telling(
    'a file that is not there',
    warmed(
      'warm_missing',
      `{ name: "missing" batch_size: 1 ${wait} ${ofValue('data_type: TYPE_INT32 dims: [ 4 ] input_data_file: "none"')} }`,
      [value],
    ),
    true,
  ),
  telling(
    'a dimension left open',
    warmed('warm_open', `{ name: "open" batch_size: 1 ${wait} ${ofValue('data_type: TYPE_INT32 dims: [ -1 ] zero_data: true')} }`, [value]),
    true,
  ),
  telling(
    'no data',
    warmed('warm_empty', `{ name: "empty" batch_size: 1 ${wait} ${ofValue('data_type: TYPE_INT32 dims: [ 1 ]')} }`, [value]),
    true,
  ),
];
