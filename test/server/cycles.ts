import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { Server } from '../../src/index.ts';
import { identityConfig, modelRepository } from './support/model-repository.ts';

// Starts and stops a server so many times in one process, with work on every way in, and prints what is left behind as one line of JSON. Run
// with --expose-gc: `node --expose-gc test/server/cycles.ts 200`.
const cycles = Number(process.argv[2] ?? 20);
const simple = join(import.meta.dirname, '..', '..', 'examples', 'models', 'simple');
const models = await modelRepository({ echo: identityConfig(), slow: identityConfig(20) });
await cp(simple, join(models.path, 'simple'), { recursive: true });
const row = { shape: [1, 2], values: [1, 2] };
const body = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 2], data: [1, 2] }] });
const ones = { shape: [1, 16], values: new Int32Array(16) };

const cycle = async (): Promise<void> => {
  const address = '127.0.0.1';
  const server = await Server.start({
    modelRepository: models.path,
    http: { address, port: 0 },
    grpc: { address, port: 0 },
    metrics: { address, port: 0 },
  });
  const url = `http://${address}:${server.ports.http}/v2/models/echo/infer`;
  const answers = await Promise.all([
    server.model('echo').inferOnce({ inputs: { INPUT0: row } }),
    server.model('simple').inferOnce({ inputs: { INPUT0: ones, INPUT1: ones } }),
    fetch(url, { method: 'POST', body }).then((response) => response.json()),
  ]);
  if (answers.length !== 3) throw new Error('a request has no answer');
  const last = server.model('slow').inferOnce({ inputs: { INPUT0: row } });
  await server.close();
  await last;
};

/** What keeps a process alive or grows: names of handles, and bytes in use after a collection. */
const settled = async () => {
  // The client's sockets and closed handles go within a few turns.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { handles: process.getActiveResourcesInfo().toSorted(), heapUsed, external, rss };
};

// What is made once, such as compiled schemas, is there after the first.
await cycle();
const first = await settled();
for (let count = 1; count < cycles; count++) await cycle();
const after = await settled();
await models[Symbol.asyncDispose]();
console.log(JSON.stringify({ first, after }));
