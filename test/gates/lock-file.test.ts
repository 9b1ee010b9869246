import { expect, it } from 'vitest';
import { lockFileFaults } from './support/lock-file.ts';
import { projectFiles, readProjectFile } from './support/source-file.ts';

/** Beside every list of packages. */
const lockFiles = projectFiles()
  .filter((path) => /(?:^|\/)package\.json$/.test(path))
  .map((path) => path.replace(/package\.json$/, 'package-lock.json'));

it.each(lockFiles)('%s is whole, and names no registry', (path) => {
  expect(lockFileFaults(readProjectFile(path))).toEqual([]);
});

const faults = (packages: object): readonly string[] => lockFileFaults(JSON.stringify({ packages }));

it('finds a package that is resolved to a host', () => {
  expect(faults({ '': {}, 'node_modules/a': { resolved: 'https://packages.example/a.tgz' }, 'node_modules/b': {} })).toEqual([
    'node_modules/a is resolved to a host',
  ]);
});

it('finds a package that is needed and not there', () => {
  const packages = {
    '': { dependencies: { a: '1' } },
    'node_modules/a': { optionalDependencies: { '@x/b': '1', c: '1' } },
    'node_modules/@x/b': {},
  };
  expect(faults(packages)).toEqual(['node_modules/a needs c, which is not there']);
});
