import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import * as operators from '../src/operators.ts';
import { projectRoot, readProjectFile } from './gates/support/source-file.ts';

const run = promisify(execFile);

const page = readProjectFile('docs/operators.md');
const examples = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code);

/** With the sources in place of the package, which is not built here. */
const runnable = (code: string): string => code.replaceAll(`'weir/operators'`, `'${new URL('../src/operators.ts', import.meta.url)}'`);

it.each(examples.map((code, index) => [index + 1, code] as const))(
  'example %i of docs/operators.md does what it says',
  async (_number, code) => {
    const { stderr } = await run(process.execPath, ['--input-type=module-typescript', '--eval', runnable(code)], { cwd: projectRoot });
    expect(stderr).toBe('');
  },
);

it('docs/operators.md names what there is', () => {
  expect(examples.length).toBe(3);
  const named = [...page.matchAll(/^\| `(\w+)/gm)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(5);
  expect(Object.keys(operators)).toEqual(expect.arrayContaining([...named, 'leases', 'bufferWhenFree', 'InOrder', 'PriorityLane']));
});
