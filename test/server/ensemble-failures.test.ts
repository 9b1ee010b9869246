import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensembleModel, identityModel, type StepText } from '../repository/support/ensembles.ts';
import type { Files } from '../repository/support/folders.ts';
import { until } from '../support/until.ts';
import { EnsembleServer, type Question, type Way } from './support/ensemble-server.ts';

const one = 'TYPE_INT32 dims: 1';
const xy = { in: { X: one }, out: { Y: one } };
const oneInstance = 'instance_group { count: 1 kind: KIND_CPU }';
const delayed = (ms: number): string => `parameters { key: "execute_delay_ms" value: { string_value: "${ms}" } }`;
const never = `${oneInstance} ${delayed(600_000)}`;

/** Answers with its input; with 0 it fails, with 13 its thread ends, with 14 it throws. */
const picky = `import { defineModel, ModelError, perRequest } from 'weir/backend';
  export default defineModel({
    execute: perRequest((request) => {
      const { data, shape } = request.input('X', 'INT32');
      if (data[0] === 0) throw new ModelError('no zeros', 'INVALID_ARGUMENT');
      if (data[0] === 13) process.exit(3);
      if (data[0] === 14) throw new TypeError('not fourteen');
      return { outputs: { Y: { shape, data } } };
    }),
  });`;

const step = (model: string, from: string, to: string): StepText => ({ model, in: { X: from }, out: { Y: to } });
const inOut = { in: { IN: one }, out: { OUT: one } };

const files: Files = {
  ...identityModel('echo', xy),
  ...identityModel('stuck', { ...xy, rest: never }),
  ...identityModel('stuck_again', { ...xy, rest: never }),
  ...identityModel('tight', { ...xy, rest: `${never} max_batch_size: 1 dynamic_batching { default_queue_policy { max_queue_size: 1 } }` }),
  ...identityModel('late', {
    ...xy,
    rest: `${never} max_batch_size: 1 dynamic_batching { default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 20000 } }`,
  }),
  'picky/config.pbtxt': `backend: "javascript" ${oneInstance} input { name: "X" data_type: ${one} } output { name: "Y" data_type: ${one} }`,
  'picky/1/model.ts': picky,
  ...ensembleModel('beside', [step('picky', 'IN', 'OUT'), step('stuck', 'IN', 'SIDE')], { in: { IN: one }, out: { OUT: one, SIDE: one } }),
  ...ensembleModel('deep', [step('echo', 'IN', 't'), step('picky', 't', 'u'), step('echo', 'u', 'OUT')], inOut),
  ...ensembleModel('deeper', [{ model: 'deep', in: { IN: 'IN' }, out: { OUT: 'OUT' } }], inOut),
  ...ensembleModel('crowded', [step('echo', 'IN', 't'), step('tight', 't', 'OUT')], inOut),
  ...ensembleModel('hurried', [step('echo', 'IN', 't'), step('late', 't', 'OUT')], inOut),
  ...ensembleModel('narrow', [step('stuck_again', 'IN', 't'), step('echo', 't', 'OUT')], inOut, 'max_inflight_requests: 1'),
  ...ensembleModel('long', [step('echo', 'IN', 't'), step('stuck', 't', 'OUT')], inOut),
  ...ensembleModel('around', [{ model: 'long', in: { IN: 'IN' }, out: { OUT: 'OUT' } }], inOut),
};

let asked = 0;
const question = (model: string, value: number): Question => ({
  model,
  id: `q${asked++}`,
  inputs: [{ name: 'IN', datatype: 'INT32', shape: [1], data: [value] }],
});

let ensembles: EnsembleServer;

beforeAll(async () => {
  ensembles = await EnsembleServer.start(files);
});

afterAll(() => ensembles.close());

const wayOf = (name: string): Way => {
  const way = ensembles.ways.find((each) => each.name === name);
  if (way === undefined) throw new Error(`no way ${name}`);
  return way;
};

const successes = async (model: string): Promise<number> => {
  const [statistics] = await ensembles.server.model(model).statistics();
  return statistics?.inference_stats.success.count ?? 0;
};

describe.each(['HTTP', 'gRPC', 'WebSocket'])('over %s', (name) => {
  it('a step that fails ends the request while another one runs, which is cancelled', async () => {
    const { said } = wayOf(name).ask(question('beside', 0));
    expect(await said).toEqual({ code: 'INVALID_ARGUMENT', error: "in ensemble 'beside', no zeros (step 0, model 'picky')" });
    await ensembles.settled();
    expect(await successes('stuck')).toBe(0);
  });

  it('a failure names every ensemble that it went through, and leaves the next request alone', async () => {
    const thrown = wayOf(name).ask(question('deeper', 14));
    const good = wayOf(name).ask(question('deeper', 5));
    expect(await thrown.said).toEqual({
      code: 'INTERNAL',
      error: "in ensemble 'deeper', in ensemble 'deep', not fourteen (step 1, model 'picky') (step 0, model 'deep')",
    });
    expect(await good.said).toEqual({ outputs: { OUT: 5 } });
    await ensembles.settled();
  });

  it('a full step refuses at once', async () => {
    const held = [wayOf(name).ask(question('crowded', 1))];
    await until(() => ensembles.stages('tight').find((stage) => stage.name === 'run')?.running === 1);
    held.push(wayOf(name).ask(question('crowded', 2)));
    await until(() => ensembles.inside('crowded')[1] === 2);
    const third = question('crowded', 3);
    expect(await wayOf(name).ask(third).said).toEqual({
      code: 'UNAVAILABLE',
      error: `in ensemble 'crowded', [request id: ${third.id}] Exceeds maximum queue size (step 1, model 'tight')`,
    });
    expect(ensembles.inside('crowded')).toEqual([0, 2]);
    for (const { cancel } of held) cancel();
    await Promise.all(held.map(({ said }) => said));
    await ensembles.settled();
  });

  it('a step that is too late says so', async () => {
    const first = wayOf(name).ask(question('hurried', 1));
    await until(() => ensembles.stages('late').find((stage) => stage.name === 'run')?.running === 1);
    expect(await wayOf(name).ask(question('hurried', 2)).said).toMatchObject({
      code: 'UNAVAILABLE',
      error: expect.stringMatching(/^in ensemble 'hurried', .*Request timeout expired \(step 1, model 'late'\)$/),
    });
    first.cancel();
    await first.said;
    await ensembles.settled();
  });

  it('a step whose instance dies fails its request, and serves again', async () => {
    expect(await wayOf(name).ask(question('deep', 13)).said).toMatchObject({
      code: 'INTERNAL',
      error: expect.stringMatching(
        /^in ensemble 'deep', death of model instance 'picky_0_0': its worker ended with code 3 \(step 1, model 'picky'\)$/,
      ),
    });
    expect(await wayOf(name).ask(question('deep', 6)).said).toEqual({ outputs: { OUT: 6 } });
    await ensembles.settled();
    const ready = await fetch(`${ensembles.url}/v2/models/deep/ready`);
    expect(ready.status).toBe(200);
  });

  it('a caller who goes takes the request along from wherever it is', async () => {
    const atPermit = question('narrow', 1);
    const first = wayOf(name).ask(question('narrow', 1));
    await until(() => ensembles.inside('stuck_again').some((count) => count > 0));
    const second = wayOf(name).ask(atPermit);
    await until(() => ensembles.stages('narrow')[0]?.queued === 1);
    second.cancel();
    await second.said;
    await until(() => ensembles.stages('narrow')[0]?.queued === 0);
    expect(ensembles.inside('narrow')).toEqual([1, 0]);
    // The one that runs within two ensembles, and one that waits there for the model's instance.
    const inner = [wayOf(name).ask(question('around', 1)), wayOf(name).ask(question('around', 2))];
    await until(() => ensembles.inside('long')[1] === 2);
    for (const { cancel } of [...inner.toReversed(), first]) cancel();
    await Promise.all([first, ...inner].map(({ said }) => said));
    await ensembles.settled();
  });
});

it('a socket that is cut off in the middle frees everything that its requests hold', async () => {
  const { webSocket } = ensembles.socket;
  for (const model of ['long', 'around', 'narrow']) {
    const { inputs, id } = question(model, 1);
    ensembles.socket.send({ model_name: model, id, inputs });
  }
  await until(() => ensembles.inside('around')[0] === 1 && ensembles.inside('narrow')[0] === 1);
  webSocket.terminate();
  await ensembles.settled();
});

it('tells its graph while requests are in it', async () => {
  const held = ensembles.unary.ask(question('around', 1));
  await until(() => ensembles.inside('long')[1] === 1);
  const graph = async (model: string) => JSON.parse(await (await fetch(`${ensembles.url}/v2/models/${model}/graph`)).text());
  const [around, long] = [await graph('around'), await graph('long')];
  expect(around).toMatchObject({
    model: 'around',
    stages: [{ name: '0:long', queued: 0, running: 1, model: { name: 'long', version: '' } }],
    edges: [
      { from: 'request', to: '0:long', tensor: 'IN' },
      { from: '0:long', to: 'response', tensor: 'OUT' },
    ],
  });
  expect(long.edges).toEqual([
    { from: 'request', to: '0:echo', tensor: 'IN' },
    { from: '0:echo', to: '1:stuck', tensor: 't' },
    { from: '1:stuck', to: 'response', tensor: 'OUT' },
  ]);
  for (const stage of [...around.stages, ...long.stages]) {
    expect(stage.in).toBe(stage.out + stage.failed + stage.queued + stage.running);
  }
  held.cancel();
  await held.said;
  await ensembles.settled();
});
