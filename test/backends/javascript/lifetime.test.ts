import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { workersStopped } from '../../../src/backends/workers/workers-stopped.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import { makePlacement } from '../../support/model.ts';
import { inferRequest } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import { floats, floatsOf, makeBatch, outcomeOf, runOf, workbench } from './workbench.ts';

const batchOf = (...values: readonly number[]) => makeBatch(values.map((value) => inferRequest({ IN: floatsOf([value]) })));

const withParameters = (parameters: Readonly<Record<string, string>>): ModelSpec => ({
  ...floats,
  parameters: new Map(Object.entries(parameters)),
});

/** Does what its requests' first value says. */
const fragile = `
  const echo = (requests) => requests.map((request) => ({ outputs: { OUT: request.input('IN') } }));
  export default defineModel({
    async execute(requests) {
      const what = requests[0].input('IN', 'FP32').data[0];
      if (what === 1) setImmediate(() => { throw new Error('torn'); });
      if (what === 2) void Promise.reject(new TypeError('nobody cared'));
      if (what === 3) process.exit(9);
      if (what === 4) while (true);
      if (what === 5) { const all = []; while (true) all.push(new Array(1e6).fill(all.length)); }
      if (what > 0) await new Promise((resolve) => setTimeout(resolve, 60_000));
      return echo(requests);
    },
  });`;

describe('the life of an instance', () => {
  /** The threads of this process that live, as Node tells of them. */
  const threads = new Set<Worker>();
  const onWorker = (worker: Worker): void => {
    threads.add(worker);
    worker.once('exit', () => threads.delete(worker));
  };
  process.on('worker', onWorker);
  // Runs after that of the workbench, which is the younger.
  afterEach(() => expect(threads.size).toBe(0));

  const { backendOf, log, open, openModel, write } = workbench();

  it.each([
    ['an error that nobody caught', 1, {}, 'torn'],
    ['a rejection that nobody handled', 2, {}, 'nobody cared'],
    ['process.exit', 3, {}, 'its worker ended with code 9'],
    ['an endless loop', 4, { execution_timeout_ms: '200' }, 'an execution took longer than execution_timeout_ms (200)'],
    ['a promise that takes too long', 6, { execution_timeout_ms: '200' }, 'an execution took longer than execution_timeout_ms (200)'],
    ['memory without end', 5, { max_memory_mb: '32' }, 'Worker terminated due to reaching memory limit: JS heap out of memory'],
  ])('ends with %s, and with it the batches that it had', async (_what, value, parameters, reason) => {
    const { instance, failure } = await openModel(fragile, { spec: withParameters(parameters) });
    expect(await runOf(instance, batchOf(0))).toEqual(['0 OUT [1,1]: 0']);
    const ended: string[] = [];
    void failure.then(() => ended.push('life'));
    const runs = await Promise.all(
      [batchOf(value, 7), batchOf(value)].map((batch) => runOf(instance, batch).finally(() => ended.push('run'))),
    );
    const text = `INTERNAL: death of model instance 'm_0': ${reason}`;
    expect(runs).toEqual([[text], [text]]);
    expect([`${(await failure).code}: ${(await failure).message}`, (await failure).reason, ended]).toEqual([
      text,
      'BACKEND',
      ['life', 'run', 'run'],
    ]);
    expect((await outcomeOf(instance, batchOf(0))).error).toMatchObject({
      code: 'UNAVAILABLE',
      message: "model instance 'm_0' is not running",
    });
  });

  it('says its last words, though their line has no end', async () => {
    const { failure } = await openModel(
      `export default { execute() {}, load() { setImmediate(() => { process.stdout.write('one\\ntwo'); console.error('three'); process.exit(4); }); } };`,
    );
    await failure;
    expect(log.lines).toEqual(['info m_0: one', 'warning m_0: three', 'info m_0: two']);
  });

  it('ends when its thread is ended from outside', async () => {
    const { failure } = await openModel(fragile);
    for (const worker of threads) void worker.terminate();
    expect(await failure).toMatchObject({ code: 'INTERNAL', message: "death of model instance 'm_0': its worker ended with code 1" });
  });

  it('is not disturbed by what a model posts to the parent of its thread', async () => {
    const { instance } = await openModel(`import { parentPort } from 'node:worker_threads';
      export default defineModel({ execute(requests) {
        for (const message of [undefined, 'text', 5, {}, []]) parentPort.postMessage(message);
        return requests.map((request) => ({ outputs: { OUT: request.input('IN') } }));
      } });`);
    for (let round = 0; round < 3; round++) expect(await runOf(instance, batchOf(round))).toEqual([`0 OUT [1,1]: ${round}`]);
  });

  it('begins to count when the model begins, not while another batch runs', async () => {
    const { instance } = await openModel(
      `export default defineModel({ execute(requests) {
        const untilMs = performance.now() + 300;
        while (performance.now() < untilMs);
        return requests.map((request) => ({ outputs: { OUT: request.input('IN') } }));
      } });`,
      { spec: withParameters({ execution_timeout_ms: '1000' }) },
    );
    expect(await Promise.all([1, 2, 3, 4].map((value) => runOf(instance, batchOf(value))))).toEqual(
      [1, 2, 3, 4].map((value) => [`0 OUT [1,1]: ${value}`]),
    );
  });

  it('ends with the batches that it has when it is stopped, then unloads, and then the thread ends', async () => {
    const { instance, life } = await openModel(`export default defineModel({
      async execute(requests) { await new Promise((resolve) => setTimeout(resolve, 20)); return requests.map((request) => ({ outputs: { OUT: request.input('IN') } })); },
      unload() { console.log('unloaded'); },
    });`);
    const running = [1, 2, 3].map((value) => runOf(instance, batchOf(value)));
    life.unsubscribe();
    expect(await runOf(instance, batchOf(4))).toEqual(["UNAVAILABLE: model instance 'm_0' is not running"]);
    expect(await Promise.all(running)).toEqual([['0 OUT [1,1]: 1'], ['0 OUT [1,1]: 2'], ['0 OUT [1,1]: 3']]);
    await workersStopped();
    expect(log.lines).toEqual(['info m_0: unloaded']);
  });

  it('may be stopped while it starts, and unloads what it has loaded', async () => {
    const files = await write(
      `import { existsSync } from 'node:fs';
      export default {
        execute() {},
        async load({ versionDirectory }) {
          console.log('loads');
          while (!existsSync(versionDirectory + '/go')) await new Promise((resolve) => setTimeout(resolve, 1));
        },
        unload() { console.log('unloads'); },
      };`,
    );
    const events: string[] = [];
    const life = backendOf({})
      .open(files, floats, makePlacement())
      .subscribe({ next: () => events.push('ready'), error: (error) => events.push(`${error}`) });
    await until(() => log.lines.length === 1);
    life.unsubscribe();
    await writeFile(join(files.versionDirectory, 'go'), '');
    await workersStopped();
    expect([events, log.lines]).toEqual([[], ['info m_0: loads', 'info m_0: unloads']]);
  });

  it('says what goes wrong when it unloads', async () => {
    const { life } = await openModel(`export default { execute() {}, unload() { throw new Error('stuck'); } };`);
    life.unsubscribe();
    await workersStopped();
    expect(log.lines).toEqual(['error m_0: unload failed: Error: stuck']);
  });

  it('ends by force where it does not end by itself, and takes nobody with it', async () => {
    const { life, instance } = await openModel(
      `export default { execute: async (requests) => requests.map(() => ({})), unload: () => new Promise(() => {}) };`,
    );
    await runOf(instance, batchOf(1));
    life.unsubscribe();
    await workersStopped();
    expect(log.lines).toEqual(['warning m_0: ended by force, since it did not end by itself within 5000 ms']);
  });

  it('is as alive as ever when its model keeps what nobody needs', async () => {
    const { instance, life } = await openModel(`const kept = [];
      export default defineModel({ execute(requests) {
        kept.push(...requests, ...requests.map((request) => request.input('IN').data));
        setInterval(() => kept.map((each) => each.isCancelled), 1);
        if (kept.length === 2) process.on('exit', () => kept.length);
        return requests.map((request) => ({ outputs: { OUT: request.input('IN') } }));
      } });`);
    for (let round = 0; round < 20; round++) expect(await runOf(instance, batchOf(round))).toEqual([`0 OUT [1,1]: ${round}`]);
    life.unsubscribe();
    await workersStopped();
    expect(log.lines).toEqual([]);
  });

  it('gives back what it held', async () => {
    const files = await write(
      `export default { execute: (requests) => requests.map((request) => ({ outputs: { OUT: request.input('IN') } })) };`,
    );
    const cycle = async (): Promise<number> => {
      const models = await Promise.all([0, 1, 2, 3].map((n) => open(files, { name: `m_${n}` })));
      await Promise.all(models.map(({ instance }) => runOf(instance, batchOf(1))));
      for (const { life } of models) life.unsubscribe();
      await workersStopped();
      return process.memoryUsage.rss() / 2 ** 20;
    };
    for (let count = 0; count < 2; count++) await cycle();
    const resources = process.getActiveResourcesInfo().length;
    const settled = await cycle();
    let last = 0;
    for (let count = 0; count < 6; count++) last = await cycle();
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(resources);
    // The memory of 24 threads would be more.
    expect(last - settled).toBeLessThan(100);
  });
});
