import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
// Inside the project, so that its packages are found as they would be beside an installed one.
const folder = join(root, '.cache', 'package');
const command = join(folder, 'dist', 'main.js');

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await run(join(root, 'node_modules', '.bin', 'tsc'), ['--project', 'tsconfig.build.json', '--outDir', join(folder, 'dist')], {
    cwd: root,
  });
  const { files }: { files: readonly string[] } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  for (const file of ['package.json', ...files.filter((name) => name !== 'dist')]) {
    await cp(join(root, file), join(folder, file), { recursive: true });
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('has a command that Node can run by itself', async () => {
  expect(await readFile(command, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  const { stdout } = await run(process.execPath, [command, '--version']);
  expect(stdout).toMatch(/^weir \d/);
});

it('serves a model, with its workers and its protocols', async () => {
  const flags = [`--model-repository=${join(root, 'examples', 'models')}`, '--http-port=0', '--grpc-port=0', '--metrics-port=0'];
  const weir = spawn(process.execPath, [command, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  for await (const text of weir.stdout.setEncoding('utf8')) {
    out += text;
    if (out.includes('Started Metrics Service')) weir.kill('SIGTERM');
  }
  const [status] = weir.exitCode === null ? await once(weir, 'exit') : [weir.exitCode];
  expect(out).toMatch(/\| vad +\| 1 +\| READY/);
  expect(status).toBe(0);
});

// By the package's name, from inside of it: as a program does that has it installed.
it.each([
  ['weir', 'Server', 'index.d.ts'],
  ['weir/operators', 'planBatch', 'operators.d.ts'],
])('exports %s, with types', async (name, exported, types) => {
  const names = `import('${name}').then((all) => console.log(Object.keys(all).join()))`;
  expect((await run(process.execPath, ['--input-type=module', '--eval', names], { cwd: folder })).stdout.split(/[,\n]/)).toContain(
    exported,
  );
  expect(await readFile(join(folder, 'dist', types), 'utf8')).toContain(exported);
});
