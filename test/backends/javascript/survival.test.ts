import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/until.ts';
import { floatsConfig, parameter, question, type ServedModels, serveModels } from './serve-models.ts';

/** What a model does to its thread before it answers, for IN [1]; anything else is given back. */
const acts = {
  exit: 'process.exit(0);',
  exit_later: 'setTimeout(() => process.exit(7), 0);',
  throw_later: 'setImmediate(() => { throw Object.create(null); });',
  throw_symbol_later: 'setImmediate(() => { throw Symbol("s"); });',
  throw_nothing_later: 'setImmediate(() => { throw undefined; });',
  reject_later: 'void Promise.reject(new Error("nobody cared"));',
  reject_odd_later: 'void Promise.reject(Object.freeze({ then: 5 }));',
  close_port: 'parentPort.close();',
  loop: 'for (;;);',
  wait: 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);',
  regular: '/^(a+)+$/.test("a".repeat(40) + "b");',
  never: 'await new Promise(() => {});',
  heap: 'const all = []; for (;;) all.push(new Array(1e5).fill(all.length));',
} as const;

/** Those that a limit ends. */
const limited: ReadonlySet<string> = new Set(['loop', 'wait', 'regular', 'never']);

const code = (act: string): string => `import { parentPort } from 'node:worker_threads';
  export default { async execute(requests) {
    if (requests[0].input('IN').data[0] === 1) { ${act} await new Promise((resolve) => setTimeout(resolve, 60_000)); }
    return requests.map((request) => ({ outputs: { OUT: request.input('IN') } }));
  } };`;

/** Harmless, though it looks otherwise: the model answers all the same, and again. */
const harmless = {
  posts: `for (const message of [null, undefined, 'text', 5, [], {}, { kind: 'nonsense' }, { kind: 5 }, { kind: 'toString' }]) parentPort.postMessage(message);`,
  listeners: `process.on('exit', () => { for (const timer of [1, 2]) setTimeout(() => {}, 1e6); }); request.signal.addEventListener('abort', () => { throw new Error('x'); });`,
  timers: `for (let n = 0; n < 1000; n++) setInterval(() => {}, 1e6);`,
  recursion: `const deep = () => deep() + 1; try { deep(); } catch {}`,
  globals: `globalThis.Promise.prototype.odd = 1; Array.prototype.odder = 2;`,
  environment: `process.env.PATH = ''; try { process.chdir('/'); } catch {}`,
  prints: `for (let n = 0; n < 5000; n++) console.log('line', n); process.stdout.write('no end of line');`,
} as const;

const harmlessCode = (act: string): string => `import { parentPort } from 'node:worker_threads';
  export default { async execute(requests) {
    const [request] = requests;
    ${act}
    return requests.map((request) => ({ outputs: { OUT: request.input('IN') } }));
  } };`;

const configOf = (act: string): string =>
  floatsConfig(
    (limited.has(act) ? parameter('execution_timeout_ms', '500') : '') + (act === 'heap' ? parameter('max_memory_mb', '32') : ''),
  );

describe('a server', () => {
  let served: ServedModels;
  beforeAll(async () => {
    served = await serveModels({
      calm: code(''),
      ...Object.fromEntries(Object.entries(acts).map(([name, act]) => [name, { 'config.pbtxt': configOf(name), '1/model.ts': code(act) }])),
      ...Object.fromEntries(Object.entries(harmless).map(([name, act]) => [name, harmlessCode(act)])),
    });
  });
  afterAll(() => served[Symbol.asyncDispose]());

  it.concurrent.each(Object.keys(acts))('outlives a model that does it, fails what it had, and starts it again: %s', async (name) => {
    expect(await served.askGrpc(name, 5)).toBe('0 5');
    const [answer, second] = await Promise.all([served.askGrpc(name, 1), served.askGrpc(name, 1)]);
    for (const said of [answer, second]) expect(said).toMatch(new RegExp(`^1[34] .*${name}_0`));
    expect(await served.askGrpc('calm', 3)).toBe('0 3');
    await until(() => served.server.model(name).isReady());
    expect(await served.askGrpc(name, 6)).toBe('0 6');
  });

  it.concurrent.each(Object.keys(harmless))('takes no harm from a model that does it, nor does the model: %s', async (name) => {
    for (const value of [1, 2, 3]) expect(await served.askGrpc(name, value)).toBe(`0 ${value}`);
    expect(await served.askHttp(name, 4)).toBe('200 4');
  });
});

describe('a stream of many answers', () => {
  it('stops at its yield when its reader is slow, and ends when the reader goes', async () => {
    const served = await serveModels({
      many: {
        'config.pbtxt': floatsConfig('model_transaction_policy { decoupled: true }'),
        '1/model.ts': `let made, ended;
          export default {
            async load({ metrics }) { made = await metrics.counter('made', 'Made'); ended = await metrics.counter('ended', 'Ended'); },
            async *execute([request]) {
              const data = new Float32Array(1000);
              try { for (;;) { made.increment(); yield { outputs: { OUT: { shape: [1000], data } } }; } } finally { ended.increment(); }
            },
          };`,
      },
    });
    const countOf = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await served.server.metrics())?.[1]);
    const stream = served.grpc.stream();
    stream.send(question('many', 1));
    await stream.received(1);
    stream.call.pause();
    let [before, now] = [-1, 0];
    // It makes none while two looks on end see the same.
    while (before !== now) {
      before = now;
      for (let turn = 0; turn < 2000; turn++) await new Promise((resolve) => setImmediate(resolve));
      now = await countOf('made');
    }
    // 16 MiB in the server, and what the client and the sockets between them hold.
    expect(now * 4000).toBeLessThan(64 * 2 ** 20);
    stream.call.resume();
    await stream.received(now + 1000);
    stream.call.cancel();
    await stream.ended;
    while ((await countOf('ended')) === 0) await new Promise((resolve) => setImmediate(resolve));
    await served[Symbol.asyncDispose]();
  });
});

describe('versions and instances', () => {
  it('have each their own code, packages and state', async () => {
    const text = (value: number): string => `import { ten } from 'ten';
      let count = 0;
      export default { execute: (requests) => requests.map(() => ({ outputs: { OUT: { shape: [3], data: [${value}, ten, ++count] } } })) };`;
    const served = await serveModels({
      twice: {
        'config.pbtxt': floatsConfig('version_policy { all { } } instance_group { count: 2 kind: KIND_CPU }'),
        '1/model.ts': text(1),
        '1/node_modules/ten/index.js': 'exports.ten = 10;',
        '2/model.ts': text(2),
        '2/node_modules/ten/package.json': '{ "type": "module", "exports": "./main.js" }',
        '2/node_modules/ten/main.js': 'export const ten = 20;',
      },
    });
    const ask = async (version: string): Promise<string> => {
      const answer = await served.server.model('twice', version).inferOnce({ inputs: { IN: { shape: [1], values: [1] } } });
      return [...answer.values('OUT')].join();
    };
    const answers: string[] = [];
    for (let round = 0; round < 4; round++) answers.push(await ask('1'), await ask('2'));
    const [first, second] = ['1,10', '2,20'].map((start) => answers.filter((answer) => answer.startsWith(start)));
    // Two instances count beside each other.
    expect([first?.length, second?.length]).toEqual([4, 4]);
    for (const said of [first, second])
      expect(said?.map((answer) => Number(answer.split(',').at(-1))).every((count) => count <= 4)).toBe(true);
    await served[Symbol.asyncDispose]();
  });
});
