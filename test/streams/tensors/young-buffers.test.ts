import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { projectRoot } from '../../gates/support/source-file.ts';

const url = new URL('../../../src/streams/tensors/young-buffers.ts', import.meta.url).href;
const script = `
import { constants, PerformanceObserver } from 'node:perf_hooks';
const observer = new PerformanceObserver(() => {});
observer.observe({ entryTypes: ['gc'] });
const { madeBuffer } = await import(${JSON.stringify(url)});
for (let made = 0; made < Number(process.argv[1]); made++) {
  Buffer.allocUnsafe(2 ** 20);
  madeBuffer(2 ** 20);
}
await new Promise((resolve) => setImmediate(resolve));
const { NODE_PERFORMANCE_GC_MINOR: minor, NODE_PERFORMANCE_GC_FLAGS_FORCED: forced } = constants;
const asked = observer.takeRecords().filter(({ detail }) => (detail.flags & forced) !== 0);
console.log(JSON.stringify(asked.map(({ detail }) => (detail.kind === minor ? 'young' : 'other'))));
`;

/** The collections that a program asks for which makes so many MiB of buffers. */
const collections = (mebibytes: number, flags: readonly string[]): readonly string[] => {
  const args = [...flags, '--input-type=module', '--eval', script, '--', String(mebibytes)];
  return JSON.parse(
    execFileSync(process.execPath, args, { cwd: projectRoot, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } }),
  );
};

it('asks for a collection of the young generation alone, once 24 MiB of buffers are made', () => {
  expect(collections(23, ['--expose-gc'])).toEqual([]);
  expect(collections(24, ['--expose-gc'])).toEqual(['young']);
});

it('asks again after as much, or later where a collection took long', () => {
  const asked = collections(200, ['--expose-gc', '--single-threaded-gc']);
  expect(new Set(asked)).toEqual(new Set(['young']));
  expect(asked.length).toBeLessThanOrEqual(8);
});

it('does nothing where the program cannot ask', () => {
  expect(collections(200, [])).toEqual([]);
});
