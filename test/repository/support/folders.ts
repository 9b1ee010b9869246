import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Files by path; a path that ends in `/` is a folder. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** A folder with these files, gone when the test ends. */
export const folderOf = async (files: Files): Promise<string> => {
  const root = await mkdtemp(join(tmpdir(), 'weir-repository-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    const full = join(root, path);
    await mkdir(path.endsWith('/') ? full : dirname(full), { recursive: true });
    if (!path.endsWith('/')) await writeFile(full, content);
  }
  return root;
};
