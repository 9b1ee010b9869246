import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';

export const projectRoot = join(import.meta.dirname, '..', '..', '..');

export interface SourceFile {
  /** From the project's root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Files that belong to the project: known to git, or new and not ignored. */
export const projectFiles = (...under: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '-z', '--', ...under], {
    cwd: projectRoot,
    encoding: 'utf8',
  })
    .split('\0')
    // One that was deleted is known until the deletion is committed.
    .filter((path) => path !== '' && existsSync(join(projectRoot, path)));

export const readProjectFile = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');

/** Every TypeScript file under `src`. */
export const sourceFiles = (): readonly SourceFile[] =>
  projectFiles('src')
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: readProjectFile(path) }));

export const parseSource = ({ path, text }: SourceFile) => {
  const parsed = parseSync(path, text);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  return parsed;
};
