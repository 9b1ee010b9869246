import { describe, expect, it } from 'vitest';
import { StoppableWorker } from '../../../src/backends/workers/stoppable-worker.ts';
import { workersStopped } from '../../../src/backends/workers/workers-stopped.ts';

/** A worker of this code, and what it says. */
const start = (code: string) => {
  const messages: unknown[] = [];
  const deaths: string[] = [];
  const heard = Promise.withResolvers<void>();
  const died = Promise.withResolvers<void>();
  const worker = new StoppableWorker<string, unknown>({
    script: new URL(`data:text/javascript,${encodeURIComponent(`import { parentPort, workerData } from 'node:worker_threads';\n${code}`)}`),
    name: 'worker under test',
    data: { greeting: 'hello' },
    onMessage: (message) => {
      messages.push(message);
      heard.resolve();
    },
    onDeath: (reason) => {
      deaths.push(reason.message);
      died.resolve();
    },
  });
  return { worker, messages, deaths, heard: heard.promise, died: died.promise };
};

const echo = `parentPort.postMessage(workerData.greeting); parentPort.on('message', (text) => parentPort.postMessage(text));`;

describe('StoppableWorker', () => {
  it('brings messages both ways, and ends silently when it is stopped', async () => {
    const { worker, messages, deaths, heard } = start(echo);
    await heard;
    worker.stop();
    worker.stop();
    await workersStopped();
    worker.post('lost');
    expect([messages, deaths]).toEqual([['hello'], []]);
  });

  it.each([
    ['an uncaught error', `throw new Error('no luck')`, 'no luck'],
    ['an exit', 'process.exit(7)', 'its worker ended with code 7'],
    ['a script that ends', '', 'its worker ended with code 0'],
    ['a rejection', `await Promise.reject(new TypeError('late'))`, 'late'],
    ['a thrown value', `throw 'words'`, 'words'],
  ])('tells once of a death by %s', async (_, code, reason) => {
    const { worker, deaths, died } = start(code);
    await died;
    worker.stop();
    await workersStopped();
    expect(deaths).toEqual([reason]);
  });

  it('ends only outside native code: with the last that leaves it', async () => {
    const { worker, messages, heard } = start(echo);
    await heard;
    worker.enter();
    worker.enter();
    worker.stop();
    worker.leave();
    worker.post('still here');
    while (messages.length < 2) await new Promise(setImmediate);
    worker.leave();
    await workersStopped();
    expect(messages).toEqual(['hello', 'still here']);
  });

  it('is killed wherever it is, silently', async () => {
    const { worker, messages, deaths, heard } = start(echo.replace('parentPort.postMessage(text)', '{ while (true); }'));
    await heard;
    worker.enter();
    worker.post('loop');
    worker.kill();
    worker.kill();
    await workersStopped();
    expect([messages, deaths]).toEqual([['hello'], []]);
  });

  it('tells of a death inside native code even after it was stopped', async () => {
    const { worker, deaths, died } = start(echo.replace('parentPort.postMessage(text)', 'process.exit(9)'));
    worker.enter();
    worker.stop();
    worker.post('die');
    await died;
    await workersStopped();
    expect(deaths).toEqual(['its worker ended with code 9']);
  });
});
