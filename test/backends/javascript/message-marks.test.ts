import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { MessageMarks } from '../../../src/backends/javascript/message-marks.ts';

it('hold a thread back while too much of what it sent is not read', async () => {
  const marks = new MessageMarks();
  const [count, most] = [2000, 4];
  const worker = new Worker(new URL('./sending-worker.ts', import.meta.url), { workerData: { shared: marks.shared, count, most } });
  const [seen, waiting]: [number[], number[]] = [[], []];
  worker.on('message', (message: number) => {
    seen.push(message);
    waiting.push(marks.waiting);
    marks.read();
  });
  await once(worker, 'exit');
  expect(seen).toEqual(Array.from({ length: count }, (_, message) => message));
  expect(Math.max(...waiting)).toBeLessThanOrEqual(most);
  expect(marks.waiting).toBe(0);
});
