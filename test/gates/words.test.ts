import { expect, it } from 'vitest';
import { projectFiles, readProjectFile } from './support/source-file.ts';
import { lockFileFaults, wordFaults } from './support/words.ts';

const isText = (path: string): boolean =>
  /\.(?:ts|mjs|js|json|md|proto|pbtxt|py|txt|ini|yml|yaml|sh|html)$|(?:^|\/)(?:run|LICENSE|\.[\w]+)$/.test(path);

it('names no folder of the machine that it was written on', () => {
  const files = projectFiles()
    .filter(isText)
    .map((path) => ({ path, text: readProjectFile(path) }));
  expect(files.length).toBeGreaterThan(50);
  expect(wordFaults(files)).toEqual([]);
});

it('names no registry in the lock file', () => {
  expect(lockFileFaults(readProjectFile('package-lock.json'))).toEqual([]);
});

it.each([
  ['/', 'home/ada/weir'],
  ['see /', 'root/x'],
  ['..', '/shared/design.md'],
])('finds %s%s', (head, tail) => {
  expect(wordFaults([{ path: 'docs/a.md', text: `one\n${head}${tail}\n` }])).toHaveLength(1);
});

it('finds a package that is resolved to a host', () => {
  const lockFile = JSON.stringify({
    packages: { '': {}, 'node_modules/a': { resolved: 'https://packages.example/a.tgz' }, 'node_modules/b': {} },
  });
  expect(lockFileFaults(lockFile)).toEqual(['node_modules/a is resolved to a host']);
});
