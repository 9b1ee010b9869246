import { mkdir, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contentFingerprint } from '../../src/repository/content-fingerprint.ts';
import { makeSpec } from '../support/model.ts';
import { type Files, folderOf } from './support/folders.ts';

const files: Files = {
  '1/model.onnx': 'weights',
  '1/deep/er/part.bin': new Uint8Array(300_000),
  '2/model.onnx': 'other',
  'labels.txt': 'a',
};

const fingerprint = (root: string, spec = makeSpec({ config: { name: 'm' } }), version = '1'): Promise<string> =>
  contentFingerprint(spec, { modelName: 'm', modelDirectory: root, versionDirectory: join(root, version), modelFile: 'model.onnx' });

describe('contentFingerprint', () => {
  it('is the same wherever and whenever the same lies there', async () => {
    const [one, other] = [await folderOf(files), await folderOf(files)];
    await utimes(join(other, '1/model.onnx'), 1, 1);
    expect(await fingerprint(one)).toMatch(/^[0-9a-f]{64}$/);
    expect(await fingerprint(other)).toBe(await fingerprint(one));
  });

  it.each<[string, (root: string) => Promise<unknown>]>([
    ['a file', (root) => writeFile(join(root, '1/model.onnx'), 'Weights')],
    ['a file deep below', (root) => writeFile(join(root, '1/deep/er/part.bin'), new Uint8Array(300_000).fill(1, 299_999))],
    ['the name of a file', (root) => rename(join(root, '1/model.onnx'), join(root, '1/net.onnx'))],
    ['one file more', (root) => writeFile(join(root, '1/empty'), '')],
    ['a file beside the versions', (root) => writeFile(join(root, 'labels.txt'), 'b')],
    ['where one file ends and the next begins', (root) => writeFile(join(root, '1/model.onnx'), 'weight')],
  ])('changes with %s', async (_, change) => {
    const root = await folderOf(files);
    const before = await fingerprint(root);
    await change(root);
    expect(await fingerprint(root)).not.toBe(before);
  });

  it('changes with the config, and does not with other versions and what Python writes', async () => {
    const root = await folderOf(files);
    const before = await fingerprint(root);
    expect(await fingerprint(root, makeSpec({ config: { name: 'm', max_batch_size: 4n } }))).not.toBe(before);
    await writeFile(join(root, '2/model.onnx'), 'changed');
    await mkdir(join(root, '1/__pycache__'));
    await writeFile(join(root, '1/__pycache__/model.pyc'), 'compiled');
    expect(await fingerprint(root)).toBe(before);
    expect(await fingerprint(root, undefined, '2')).not.toBe(before);
  });

  it('follows links, and not in circles', async () => {
    const [root, elsewhere] = [await folderOf({ '1/model.py': 'code' }), await folderOf({ 'weights.bin': 'one' })];
    await symlink(elsewhere, join(root, '1/linked'));
    await symlink(root, join(root, '1/circle'));
    const before = await fingerprint(root);
    await writeFile(join(elsewhere, 'weights.bin'), 'two');
    expect(await fingerprint(root)).not.toBe(before);
  });

  it('says so when it cannot read', async () => {
    await expect(fingerprint('/nowhere/at/all')).rejects.toMatchObject({
      code: 'INTERNAL',
      message: "unable to read the files of model 'm' version 1",
    });
  });
});
