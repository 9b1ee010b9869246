import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Subscription } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Server } from '../../src/index.ts';
import { ensembleModel, identityModel } from '../repository/support/ensembles.ts';
import type { Files } from '../repository/support/folders.ts';
import { addSub, identity, writeModel } from '../support/onnx-models.ts';
import { parseExposition } from '../support/parse-exposition.ts';
import { until } from '../support/until.ts';
import { repeatConfig } from './support/decoupled-models.ts';
import { type ModelRepository, modelRepository } from './support/model-repository.ts';

// What users of such servers reported as broken when parts met: branches, calls of models, scheduling and workers. All of it on the whole server.

const four = 'TYPE_FP32 dims: 4';
const floats = { in: { X: four }, out: { Y: four } };
const texts = { in: { IN: 'TYPE_STRING dims: -1' }, out: { OUT: 'TYPE_STRING dims: -1' } };
const forEver = 'parameters { key: "execute_delay_ms" value: { string_value: "600000" } }';
const batched = 'max_batch_size: 8 dynamic_batching { }';
const instances = (count: number): string => `instance_group { count: ${count} kind: KIND_CPU }`;

/** A model in JavaScript from texts to texts, one request at a time. */
const scripted = (name: string, body: string, config = ''): Files => ({
  [`${name}/config.pbtxt`]: `backend: "javascript" ${instances(1)} ${config}
    input { name: "IN" data_type: TYPE_STRING dims: -1 } output { name: "OUT" data_type: TYPE_STRING dims: -1 }`,
  [`${name}/1/model.ts`]: `import { defineModel, perRequest } from 'weir/backend';
    const texts = (...data) => ({ datatype: 'BYTES', shape: [data.length], data });
    export default defineModel({ execute: perRequest(async (request, context) => { ${body} }) });`,
});

/** Calls the model that is the first text of IN, with the others. */
const callsOn = `const [model, ...rest] = request.input('IN', 'BYTES').strings();
  if (model === undefined) return { outputs: { OUT: texts('the end') } };
  const answer = await context.infer({ model, inputs: { IN: texts(...rest) } }, { request });
  return { outputs: { OUT: texts(...answer.output('OUT', 'BYTES').strings()) } };`;

/** Hears 32 streams of 50 answers at once, and says how many came whole and in order. */
const streams = `const hear = async (from) => {
    const values = Int32Array.from({ length: 50 }, (_, n) => from + n);
    const zeros = (length) => ({ datatype: 'UINT32', shape: [length], data: new Uint32Array(length) });
    const inputs = { IN: { datatype: 'INT32', shape: [50], data: values }, DELAY: zeros(50), WAIT: zeros(1) };
    const heard = [];
    for await (const answer of context.inferMany({ model: 'repeat', inputs }, { request })) {
      if (answer.outputNames.includes('OUT')) heard.push(answer.output('OUT', 'INT32').data[0]);
    }
    return heard.join() === values.join();
  };
  const all = await Promise.all(Array.from({ length: 32 }, (_, n) => hear(1000 * n)));
  return { outputs: { OUT: texts(String(all.filter(Boolean).length)) } };`;

/** Answers 5000 times with its text and a number, one request after the other. */
const counting: Files = {
  'counting/config.pbtxt': `backend: "javascript" ${instances(1)} model_transaction_policy { decoupled: true }
    parameters { key: "concurrency" value { string_value: "1" } }
    input { name: "IN" data_type: TYPE_STRING dims: -1 } output { name: "OUT" data_type: TYPE_STRING dims: -1 }`,
  'counting/1/model.ts': `import { defineModel } from 'weir/backend';
    export default defineModel({ *execute([request]) {
      const [text] = request.input('IN', 'BYTES').strings();
      for (let n = 0; n < 5000; n++) yield { outputs: { OUT: { datatype: 'BYTES', shape: [1], data: [text + n] } } };
    } });`,
};

/** Begins four of these together and hears one after the other, the last one first. Says how many came whole and in order. */
const backwards = `const names = ['a', 'b', 'c', 'd'];
  const opened = names.map((name) => context.inferMany({ model: 'counting', inputs: { IN: texts(name) } }, { request }));
  let whole = 0;
  for (const stream of [3, 2, 1, 0]) {
    let count = 0;
    let inOrder = true;
    for await (const answer of opened[stream]) {
      const [text] = answer.output('OUT', 'BYTES').strings();
      inOrder &&= text === names[stream] + count++;
    }
    if (inOrder && count === 5000) whole++;
  }
  return { outputs: { OUT: texts(String(whole)) } };`;

const control = (kind: string, rest: string): string =>
  `control_input { name: "${kind}" control { kind: CONTROL_SEQUENCE_${kind} ${rest} } }`;
const flag = 'int32_false_true: [ 0, 1 ]';
const warmUpOf = (name: string, type: string): string => `inputs { key: "${name}" value { data_type: ${type} dims: 1 zero_data: true } }`;
const warmUps = [warmUpOf('INPUT', 'TYPE_INT32'), warmUpOf('CORRID', 'TYPE_STRING')];
for (const kind of ['START', 'END', 'READY']) warmUps.push(warmUpOf(kind, 'TYPE_INT32'));

const files: Files = {
  ...identityModel('a', { ...floats, rest: `${batched} ${instances(2)}` }),
  ...identityModel('z', { ...floats, rest: batched }),
  ...identityModel('plain', floats),
  ...identityModel('stuck', { ...floats, rest: `${forEver} ${instances(1)}` }),
  ...identityModel('ten', { ...floats, rest: `${forEver} ${instances(10)}` }),
  ...ensembleModel(
    'diamonds',
    [
      { model: 'a', in: { X: 'IN' }, out: { Y: 'one' } },
      { model: 'z', in: { X: 'one' }, out: { Y: 'left' } },
      { model: 'a', in: { X: 'one' }, out: { Y: 'right' } },
      { model: 'addsub', in: { INPUT0: 'left', INPUT1: 'right' }, out: { OUTPUT0: 'sum', OUTPUT1: 'nothing' } },
      { model: 'addsub', in: { INPUT0: 'sum', INPUT1: 'left' }, out: { OUTPUT0: 'thrice', OUTPUT1: 'same' } },
      { model: 'addsub', in: { INPUT0: 'thrice', INPUT1: 'nothing' }, out: { OUTPUT0: 'OUT' } },
    ],
    { out: { OUT: four, same: four }, rest: 'max_batch_size: 8' },
  ),
  ...ensembleModel('narrow', [
    { model: 'plain', in: { X: 'IN' }, out: { Y: 't' } },
    { model: 'stuck', in: { X: 't' }, out: { Y: 'u' } },
    { model: 'plain', in: { X: 'u' }, out: { Y: 'OUT' } },
  ]),
  ...identityModel('optional', { in: { X: four, Z: `${four} optional: true` }, out: { Y: four, V: four } }),
  ...ensembleModel(
    'may_lack',
    [
      { model: 'optional', in: { X: 'IN', Z: 'MORE' }, out: { Y: 'y' } },
      { model: 'plain', in: { X: 'y' }, out: { Y: 'OUT' } },
    ],
    { in: { IN: four, MORE: `${four} optional: true` } },
  ),
  ...scripted('caller', callsOn),
  ...scripted('other_caller', callsOn),
  ...ensembleModel('around', [{ model: 'caller', in: { IN: 'IN' }, out: { OUT: 'OUT' } }], texts),
  ...scripted(
    'waits_for_ten',
    `await context.infer({ model: 'ten', inputs: { X: { datatype: 'FP32', shape: [4], data: new Float32Array(4) } } }, { request });
     return { outputs: { OUT: texts('done') } };`,
  ),
  'repeat/config.pbtxt': repeatConfig(),
  'repeat/1/': '',
  ...scripted('streams', streams),
  ...counting,
  ...scripted('backwards', backwards),
  ...scripted(
    'parameters',
    `const parameters = Object.fromEntries(request.parameters);
     const said = JSON.stringify(parameters, (key, value) => (typeof value === 'bigint' ? Number(value) : value));
     return { outputs: { OUT: { ...texts(said), shape: [1, 1] } }, parameters };`,
    batched,
  ),
  ...ensembleModel('forwards', [{ model: 'parameters', in: { IN: 'IN' }, out: { OUT: 'OUT' } }], { ...texts, rest: 'max_batch_size: 8' }),
  'named/config.pbtxt': `backend: "dyna_sequence" max_batch_size: 4
    input { name: "INPUT" data_type: TYPE_INT32 dims: -1 } output { name: "OUTPUT" data_type: TYPE_INT32 dims: -1 }
    sequence_batching { oldest { max_candidate_sequences: 4 }
      ${control('START', flag)} ${control('END', flag)} ${control('READY', flag)} ${control('CORRID', 'data_type: TYPE_STRING')} }
    model_warmup { name: "w" batch_size: 2 count: 2 ${warmUps.join(' ')} }`,
  'named/1/': '',
};

let repository: ModelRepository;
let server: Server;

beforeAll(async () => {
  repository = await modelRepository({});
  for (const [path, content] of Object.entries(files)) {
    const file = join(repository.path, path);
    await mkdir(path.endsWith('/') ? file : dirname(file), { recursive: true });
    if (!path.endsWith('/')) await writeFile(file, content);
  }
  const list = (kind: string, names: readonly string[]): string =>
    names.map((name) => `${kind} { name: "${name}" data_type: ${four} }`).join(' ');
  const pairs = `${list('input', ['INPUT0', 'INPUT1'])} ${list('output', ['OUTPUT0', 'OUTPUT1'])}`;
  await writeModel(repository.path, 'addsub', { onnx: addSub({ datatype: 'FP32', dims: ['batch', 4] }), config: `${batched} ${pairs}` });
  const strings = identity({ datatype: 'BYTES', dims: ['batch', 'length'] });
  await writeModel(repository.path, 'strings', { onnx: strings, config: `${batched} ${instances(2)}` });
  const http = { address: '127.0.0.1', port: 0, headerForwardPattern: 'my_.*' };
  server = await Server.start({ modelRepository: repository.path, http });
});

afterAll(async () => {
  await server.close();
  await repository[Symbol.asyncDispose]();
});

const running = (model: string): number =>
  server
    .graphs()
    .find((graph) => graph.model === model)
    ?.stages.reduce((sum, stage) => sum + stage.running, 0) ?? 0;

const row = (first: number) => ({ shape: [4], values: [first, 1, 2, 3] });

/** So many callers of a model that does not answer. */
const callers = (
  model: string,
  count: number,
  inputs: Parameters<ReturnType<Server['model']>['infer']>[0]['inputs'],
): readonly Subscription[] => Array.from({ length: count }, () => server.model(model).infer({ inputs }).subscribe());

describe('branches', () => {
  it('that part and meet again keep every request whole, 200 at once', async () => {
    const ask = async (value: number): Promise<void> => {
      const answer = await server.model('diamonds').inferOnce({ inputs: { IN: { shape: [1, 4], values: [value, 1, 2, 3] } } });
      expect([...answer.values('OUT')]).toEqual([3 * value, 3, 6, 9]);
      expect([...answer.values('same')]).toEqual([value, 1, 2, 3]);
    };
    await Promise.all(Array.from({ length: 200 }, (_, value) => ask(value)));
  });

  it('pass by an optional input that nobody sent', async () => {
    const ask = async (more: object): Promise<unknown> => [
      ...(await server.model('may_lack').inferOnce({ inputs: { IN: row(5), ...more } })).values('OUT'),
    ];
    expect(await ask({})).toEqual([5, 1, 2, 3]);
    expect(await ask({ MORE: row(9) })).toEqual([5, 1, 2, 3]);
  });
});

it('requests that wait for the middle step of an ensemble are counted there, and nowhere once they have gone', async () => {
  const pending = async (): Promise<readonly (number | undefined)[]> => {
    const { values } = parseExposition(await server.metrics());
    return ['narrow', 'plain', 'stuck'].map((model) => values.get(`nv_inference_pending_request_count{model="${model}",version="1"}`));
  };
  const all = callers('narrow', 10, { IN: row(1) });
  await expect.poll(pending, { interval: 5, timeout: 10_000 }).toEqual([0, 0, 9]);
  for (const caller of all) caller.unsubscribe();
  await expect.poll(pending, { interval: 5, timeout: 10_000 }).toEqual([0, 0, 0]);
});

describe('models that call models', () => {
  const ask = async (model: string, ...next: readonly string[]): Promise<readonly string[]> =>
    (await server.model(model).inferOnce({ inputs: { IN: { shape: [next.length], values: next, datatype: 'BYTES' } } })).strings('OUT');

  it('end a call that would wait for itself by naming the circle, and go on', async () => {
    const circle = 'models call each other in a cycle: ';
    await expect(ask('caller', 'caller')).rejects.toThrow(`${circle}caller -> caller`);
    await expect(ask('caller', 'other_caller', 'caller')).rejects.toThrow(`${circle}caller -> other_caller -> caller`);
    await expect(ask('around', 'other_caller', 'around')).rejects.toThrow(`${circle}around -> caller -> other_caller -> around`);
    expect(await ask('around', 'other_caller')).toEqual(['the end']);
    expect(['around', 'caller', 'other_caller'].map(running)).toEqual([0, 0, 0]);
  });

  it('wait side by side, as far as the model that they call has instances', async () => {
    const all = callers('waits_for_ten', 10, { IN: { shape: [1], values: ['x'] } });
    await until(() => running('ten') === 10);
    for (const caller of all) caller.unsubscribe();
    await until(() => running('ten') + running('waits_for_ten') === 0);
  });

  it('hear streams of a model that makes one at a time in whatever order', async () => {
    expect(await ask('backwards', 'x')).toEqual(['4']);
  });

  it('hear 32 streams at once, each in its order', async () => {
    expect(await ask('streams', 'x')).toEqual(['32']);
  });
});

describe('parameters', () => {
  const ask = async (model: string, headers: Readonly<Record<string, string>>, parameters: object): Promise<unknown> => {
    const inputs = [{ name: 'IN', datatype: 'BYTES', shape: [1, 1], data: ['x'] }];
    const url = `http://127.0.0.1:${server.ports.http}/v2/models/${model}/infer`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ inputs, parameters }) });
    const { outputs, parameters: answered } = JSON.parse(await response.text());
    return { heard: JSON.parse(outputs[0].data[0]), answered };
  };

  it('of each kind come through a batch, of one request and of many', async () => {
    const some = { text: '123', number: 5, flag: true };
    expect(await ask('parameters', {}, some)).toEqual({ heard: some, answered: some });
    const many = Array.from({ length: 16 }, (_, number) => ({ ...some, number }));
    expect(await Promise.all(many.map((each) => ask('parameters', {}, each)))).toEqual(
      many.map((each) => ({ heard: each, answered: each })),
    );
  });

  it('that come as headers reach the models of an ensemble too', async () => {
    for (const model of ['parameters', 'forwards']) {
      expect(await ask(model, { my_tenant: '7' }, { own: 1 })).toMatchObject({ heard: { my_tenant: '7', own: 1 } });
    }
  });
});

it('warms up a model whose sequences have names', async () => {
  const values = async (sequenceId: string, sequenceStart: boolean): Promise<unknown> => {
    const inputs = { INPUT: { shape: [1, 1], values: [4] } };
    return [
      ...(await server.model('named').inferOnce({ inputs, sequenceId, sequenceStart, sequenceEnd: !sequenceStart })).values('OUTPUT'),
    ];
  };
  expect([await values('5', true), await values('5', false)]).toEqual([[4], [13]]);
});

it('two workers carry texts of any length, 2,000 times', async () => {
  const longest = 'é0123456'.repeat(120_000);
  const ask = async (n: number): Promise<void> => {
    // Most are short, so that it does not take long.
    const length = 2 ** (n % 100 === 0 ? 20 : (n * 7) % 13) - (n % 2);
    const values = [longest.slice(0, length), `${n}`];
    const answer = await server.model('strings').inferOnce({ inputs: { INPUT0: { shape: [1, 2], values } } });
    const heard = answer.strings('OUTPUT0');
    // Texts of a megabyte are no use in a message.
    expect(heard[0] === values[0] && heard[1] === values[1]).toBe(true);
  };
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < 2000) await ask(next++);
  };
  await Promise.all(Array.from({ length: 16 }, one));
});
