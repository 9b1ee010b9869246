import { expect, it } from 'vitest';
import { projectFiles, readProjectFile } from './support/source-file.ts';
import { wordFaults } from './support/words.ts';

const isText = (path: string): boolean =>
  /\.(?:ts|mjs|js|json|md|proto|pbtxt|py|txt|ini|yml|yaml|sh|html)$|(?:^|\/)(?:run|LICENSE|\.[\w]+)$/.test(path);

it('names no folder of the machine that it was written on', () => {
  const files = projectFiles()
    .filter(isText)
    .map((path) => ({ path, text: readProjectFile(path) }));
  expect(files.length).toBeGreaterThan(50);
  expect(wordFaults(files)).toEqual([]);
});

it.each([
  ['/', 'home/ada/weir'],
  ['see /', 'root/x'],
  ['..', '/shared/design.md'],
])('finds %s%s', (head, tail) => {
  expect(wordFaults([{ path: 'docs/a.md', text: `one\n${head}${tail}\n` }])).toHaveLength(1);
});
