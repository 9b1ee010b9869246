import { instances, inTurn, int32, pythonModel, type Scenario, type ScenarioModel, signature } from '../scenario.ts';
import { tensor } from './ensemble-models.ts';

const asked = (plan: object): string => `parameters { key: "complete" value { string_value: ${JSON.stringify(JSON.stringify(plan))} } }`;

const x = { name: 'X', data_type: 'TYPE_INT32', dims: [1] };
const report = { name: 'REPORT', data_type: 'TYPE_STRING', dims: [1] };
const whole = { inputs: [x], outputs: [report] };

const model = (name: string, plan: object, config = ''): ScenarioModel =>
  pythonModel(`complete_${name}`, 'completed', `${config}\n${asked(plan)}\n${instances(1)}`);

const given = signature([tensor('X')], ['name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]']);

const good: readonly ScenarioModel[] = [
  model('nothing', {}, given),
  model('tensors', whole),
  model('rows', { ...whole, rows: 4 }),
  model('batching', { ...whole, rows: 4, batching: true }),
  model('agrees', { ...whole, rows: 4 }, `max_batch_size: 2\n${given}`),
];

const bad: readonly ScenarioModel[] = [
  model('fewer_rows', { ...whole, rows: 2 }, 'max_batch_size: 4'),
  model('scheduler', { ...whole, rows: 2, batching: true }, 'max_batch_size: 2\nsequence_batching { }'),
  model('no_name', { inputs: [{ data_type: 'TYPE_INT32', dims: [1] }] }),
  model('no_type', { inputs: [{ name: 'X', dims: [1] }] }),
  model('no_dims', { inputs: [{ name: 'X', data_type: 'TYPE_INT32' }] }),
  model('more_keys', { inputs: [{ ...x, shape: [1] }] }),
  model('out_no_name', { outputs: [{ data_type: 'TYPE_INT32', dims: [1] }] }),
  model('out_more_keys', { outputs: [{ ...x, optional: true }] }),
  model('other_type', { inputs: [{ ...x, data_type: 'TYPE_FP32' }] }, given),
  model('other_dims', { inputs: [{ ...x, dims: [2] }] }, given),
  model('policy_keys', { ...whole, decoupled: { other: true } }),
  model('policy', { ...whole, decoupled: { decoupled: true } }, 'model_transaction_policy { decoupled: false }'),
  model('returns_nothing', { ...whole, returns: false }),
];

/** What a model says of its own config, and what its process is told. */
export const completion: readonly Scenario[] = [
  {
    name: 'completion: what a model sees of its config and itself',
    models: good,
    asks: inTurn(
      good.map(({ name }, index) => ({
        atMs: 60 * index,
        id: name,
        model: name,
        inputs: { X: /rows|batching|agrees/.test(name) ? int32([1, 1], 1) : int32([1], 1) },
      })),
    ),
  },
  { name: 'completion: refused', models: bad, asks: [] },
];
