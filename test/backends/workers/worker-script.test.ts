import { expect, it } from 'vitest';
import { workerScript } from '../../../src/backends/workers/worker-script.ts';

it.each([
  ['file:///app/src/backends/a/instance.ts', 'file:///app/src/backends/a/worker.ts'],
  ['file:///app/dist/backends/a/instance.js', 'file:///app/dist/backends/a/worker.js'],
])('finds the script beside %s', (module, script) => {
  expect(workerScript('worker', module).href).toBe(script);
});
