import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const lockedPackages = (path) => {
  if (!existsSync(path)) return undefined;
  const { '': _root, ...packages } = JSON.parse(readFileSync(path, 'utf8')).packages;
  return packages;
};

/**
 * Whether `folder` has what its lock file says. npm keeps a lock file of what it has installed. That lacks what this platform does not need, and has nothing
 * that the project's lacks.
 */
export const packagesAreCurrent = (folder) => {
  const wanted = lockedPackages(join(folder, 'package-lock.json'));
  const installed = lockedPackages(join(folder, 'node_modules', '.package-lock.json'));
  if (wanted === undefined || installed === undefined) return false;
  const isInstalled = ([path, { version, optional }]) => installed[path]?.version === version || optional === true;
  return Object.entries(wanted).every(isInstalled) && Object.keys(installed).every((path) => path in wanted);
};
