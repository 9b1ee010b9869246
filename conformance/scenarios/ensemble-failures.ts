import { inTurn, int32, reporter, type Scenario, type ScenarioModel, signature } from '../scenario.ts';
import { askEnsemble as ask, chain, ensemble, fan, step, tensor, told } from './ensemble-models.ts';

/** Two requests beside the one that fails, which must not notice. */
const among = (model: string) => [
  ask(model, 'before', 0, 1),
  ask(model, 'fails', 60, 1, { values: { fail: `${model}_right` } }),
  ask(model, 'after', 120, 2),
];

/** Its second step takes as long as the request says. */
const second = (name: string, config: string): readonly ScenarioModel[] => [
  step(`${name}_1`, {}),
  reporter(`${name}_2`, config),
  ensemble(name, `max_batch_size: 1\n${signature([tensor('IN')], ['name: "OUT" data_type: TYPE_STRING dims: [ 1 ]'])}`, [
    { model: `${name}_1`, inputs: { X: 'IN' }, outputs: { Y: 'middle' } },
    { model: `${name}_2`, inputs: { WAIT: 'middle' }, outputs: { REPORT: 'OUT' } },
  ]),
];

/** Ensembles of which a step fails, is full, is late or is cancelled. */
export const ensembleFailures: readonly Scenario[] = [
  {
    name: 'ensemble: a step that fails',
    models: [step('fails_1', { add: '1' }), step('fails_2', {}), chain('fails')],
    asks: inTurn([
      ask('fails', 'first', 0, 1, { values: { fail: 'fails_1' } }),
      ask('fails', 'second', 200, 1, { values: { fail: 'fails_2' } }),
      ask('fails', 'none', 400, 1),
      ask('fails', 'streamed', 600, 1, { values: { fail: 'fails_2' }, stream: 's' }),
    ]),
  },
  {
    name: 'ensemble: a step that fails while another one runs',
    models: fan('beside'),
    asks: inTurn([ask('beside', 'fails', 0, 1, { values: { fail: 'beside_right' } }), ask('beside', 'next', 300, 2)]),
  },
  {
    name: 'ensemble: both of two steps fail',
    models: [
      step('both_left', { wait_ms: '200' }),
      step('both_right', {}),
      ensemble('both', `max_batch_size: 4\n${signature([tensor('IN')], [tensor('LEFT'), tensor('RIGHT')])}`, [
        { model: 'both_left', inputs: { X: 'IN' }, outputs: { Y: 'LEFT' } },
        { model: 'both_right', inputs: { X: 'IN' }, outputs: { Y: 'RIGHT' } },
      ]),
    ],
    asks: inTurn([
      ask('both', 'right', 0, 1, { values: { fail: 'both_right' } }),
      ask('both', 'left', 300, 1, { values: { fail: 'both_left' } }),
      ask('both', 'none', 300, 1),
    ]),
  },
  {
    name: 'ensemble: one request fails beside others',
    models: fan('among'),
    asks: among('among'),
  },
  {
    name: 'ensemble: a step whose queue is full',
    models: [
      reporter('crowded_1', 'max_batch_size: 1\ndynamic_batching { default_queue_policy { max_queue_size: 1 } }'),
      ensemble('crowded', `max_batch_size: 1\n${signature([tensor('IN')], ['name: "OUT" data_type: TYPE_STRING dims: [ 1 ]'])}`, [
        { model: 'crowded_1', inputs: { WAIT: 'IN' }, outputs: { REPORT: 'OUT' } },
      ]),
    ],
    asks: ['a', 'b', 'c'].map((id, index) => ask('crowded', id, 120 * index, 500)),
    varies: /outputs\.OUT\.values/,
  },
  {
    name: 'ensemble: a later step whose queue is full',
    models: second('behind', 'max_batch_size: 1\ndynamic_batching { default_queue_policy { max_queue_size: 1 } }'),
    asks: ['a', 'b', 'c'].map((id, index) => ask('behind', id, 120 * index, 500)),
    varies: /outputs\.OUT\.values/,
  },
  {
    name: 'ensemble: a step that is too late',
    models: second(
      'late',
      'max_batch_size: 1\ndynamic_batching { default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 200000 } }',
    ),
    asks: ['a', 'b'].map((id, index) => ask('late', id, 150 * index, 900)),
    varies: /outputs\.OUT\.values/,
  },
  {
    name: 'ensemble: a request that shortens the time-out of a step',
    models: second(
      'hurry',
      'max_batch_size: 1\ndynamic_batching { default_queue_policy { allow_timeout_override: true default_timeout_microseconds: 60000000 } }',
    ),
    asks: [ask('hurry', 'a', 0, 900), ask('hurry', 'b', 150, 0, { values: { timeout: 200_000 } })],
    varies: /outputs\.OUT\.values/,
  },
  {
    name: 'ensemble: an exception in a step',
    models: [reporter('raises_step_1', 'max_batch_size: 4'), told('raises_step', 4)],
    asks: inTurn([
      ask('raises_step', 'raise', 0, 0, { values: { fail: 'raise' } }),
      ask('raises_step', 'short', 150, 0, { values: { fail: 'short' } }),
      ask('raises_step', 'none', 150, 0),
    ]),
  },
  {
    name: 'ensemble: the process of a step ends',
    models: [reporter('dies_1', 'max_batch_size: 4'), told('dies', 4)],
    asks: inTurn([ask('dies', 'before', 0, 0), ask('dies', 'exit', 150, 0, { values: { fail: 'exit' } }), ask('dies', 'after', 1500, 0)]),
  },
  {
    name: 'ensemble: cancelled while its first step runs',
    models: [step('left_1', { wait_ms: '500' }), step('left_2', {}), chain('left')],
    asks: [ask('left', 'gone', 0, 1, { cancelAtMs: 150 }), ask('left', 'stays', 1000, 2)],
  },
  {
    name: 'ensemble: cancelled while its last step runs',
    models: [step('quit_1', {}), step('quit_2', { wait_ms: '500' }), chain('quit')],
    asks: [ask('quit', 'gone', 0, 1, { cancelAtMs: 150 }), ask('quit', 'stays', 1000, 2)],
  },
  {
    name: 'ensemble: cancelled while it waits for a step',
    models: [reporter('waits_1', 'max_batch_size: 1\ndynamic_batching { }'), told('waits')],
    asks: [ask('waits', 'first', 0, 600), ask('waits', 'gone', 100, 0, { cancelAtMs: 250 }), ask('waits', 'last', 400, 0)],
  },
  {
    name: 'ensemble: a limit of requests in flight',
    models: [
      step('limited_1', {}),
      ensemble(
        'limited',
        `max_batch_size: 4\n${signature([tensor('IN')], [tensor('OUT')])}`,
        [{ model: 'limited_1', inputs: { X: 'IN' }, outputs: { Y: 'OUT' } }],
        'max_inflight_requests: 2',
      ),
    ],
    asks: inTurn([ask('limited', 'a', 0, 1, { inputs: { IN: int32([1, 1], 1) } })]),
  },
];
