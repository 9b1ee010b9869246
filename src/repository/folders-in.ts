import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of the folders in a folder, links to folders included, ascending. Rejects with the system's error. */
export const foldersIn = async (directory: string): Promise<readonly string[]> => {
  const entries = await readdir(directory, { withFileTypes: true });
  const isFolder = await Promise.all(
    entries.map(async (entry) => {
      if (!entry.isSymbolicLink()) return entry.isDirectory();
      const target = await stat(join(directory, entry.name)).catch(() => undefined);
      return target?.isDirectory() ?? false;
    }),
  );
  return entries
    .filter((_, index) => isFolder[index])
    .map(({ name }) => name)
    .toSorted();
};
