import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MadeFiles } from '../../scripts/examples/made-files.ts';
import { folderOf } from '../repository/support/folders.ts';

const record = 'models/.made';

const below = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path !== record)
    .toSorted();

it('makes files, folders and copies', async () => {
  const [root, source] = [await folderOf({}), await folderOf({ 'config.pbtxt': 'c', '1/deep/model.ts': 'm' })];
  const made = new MadeFiles(root, record);
  made.copy(source, 'models/a');
  made.write('data/page.txt', 'text');
  made.makeFolder('models/b/1');
  expect(below(root)).toEqual([
    'data',
    'data/page.txt',
    'models',
    'models/a',
    'models/a/1',
    'models/a/1/deep',
    'models/a/1/deep/model.ts',
    'models/a/config.pbtxt',
    'models/b',
    'models/b/1',
  ]);
  expect(readFileSync(join(root, 'models/a/1/deep/model.ts'), 'utf8')).toBe('m');
});

it('removes what the build before made, and nothing of others', async () => {
  const root = await folderOf({ 'models/mine/config.pbtxt': 'mine', 'data/own.txt': 'own' });
  const first = new MadeFiles(root, record);
  first.write('models/old/1/model.onnx', 'old');
  first.makeFolder('models/empty/1');
  first.write('models/kept/1/model.onnx', 'one');
  first.write('models/kept/1/extra.ts', 'one');
  first.write('models/shared/config.pbtxt', 'old');
  first.write('data/page.txt', 'page');
  mkdirSync(join(root, 'models/shared/2'));
  writeFileSync(join(root, 'models/shared/2/model.onnx'), 'mine');
  // As a build that is broken off: what it has made so far is known.
  const broken = new MadeFiles(root, record);
  broken.write('models/half/1/model.onnx', 'half');
  new MadeFiles(root, record).write('models/kept/1/model.onnx', 'two');
  expect(below(root)).toEqual([
    'data',
    'data/own.txt',
    'models',
    'models/kept',
    'models/kept/1',
    'models/kept/1/model.onnx',
    'models/mine',
    'models/mine/config.pbtxt',
    'models/shared',
    'models/shared/2',
    'models/shared/2/model.onnx',
  ]);
  expect(readFileSync(join(root, 'models/kept/1/model.onnx'), 'utf8')).toBe('two');
});

it('removes no folder that was there before it', async () => {
  const root = await folderOf({ 'models/a/': '' });
  new MadeFiles(root, record).write('models/a/1/model.onnx', '');
  new MadeFiles(root, record);
  expect(existsSync(join(root, 'models/a'))).toBe(true);
  expect(existsSync(join(root, 'models/a/1'))).toBe(false);
});
