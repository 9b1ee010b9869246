import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, '.venv');
const requirements = join(root, 'test', 'python', 'requirements.txt');
const installedList = join(folder, 'installed-requirements.txt');

const succeeds = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status === 0;

const isCurrent = (): boolean => existsSync(installedList) && readFileSync(installedList, 'utf8') === readFileSync(requirements, 'utf8');

/**
 * The Python of `.venv` with what the Python tests need, made when it is missing or out of date.
 *
 * @returns the interpreter's path, or why there is none
 */
export const pythonEnvironment = (): { readonly python: string } | { readonly missing: string } => {
  const python = join(folder, 'bin', 'python');
  if (isCurrent()) return { python };
  if (spawnSync('python3', ['-c', 'import venv, ensurepip']).status !== 0) return { missing: 'there is no python3 with venv' };
  if (!succeeds('python3', ['-m', 'venv', '--clear', folder])) return { missing: 'python3 -m venv failed' };
  if (!succeeds(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', requirements])) {
    return { missing: 'pip could not install test/python/requirements.txt' };
  }
  writeFileSync(installedList, readFileSync(requirements));
  return { python };
};
