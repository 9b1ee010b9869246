import { expect, it } from 'vitest';
import { dependencyFaults, licenceFaults, type Manifest } from './support/dependencies.ts';
import { projectFiles, readProjectFile } from './support/source-file.ts';

const manifestOf = (path: string): Manifest => JSON.parse(readProjectFile(path));
const manifest = manifestOf('package.json');
/** Of packages that are installed apart, when they are wanted. */
const others = projectFiles().filter((path) => path.endsWith('/package.json'));

it('declares every package that is imported, and ships none that the server does not use', () => {
  const files = projectFiles()
    .filter((path) => path.endsWith('.ts') || path.endsWith('.mjs'))
    .map((path) => ({ path, text: readProjectFile(path) }));
  expect(files.length).toBeGreaterThan(200);
  expect(dependencyFaults(files, manifest)).toEqual([]);
});

it.each(['package.json', ...others])('%s ships packages under permissive licences only', (path) => {
  expect(licenceFaults(readProjectFile(path.replace(/package\.json$/, 'package-lock.json')))).toEqual([]);
});

it('installs apart only what nothing imports and is in no other list', () => {
  expect(others).toEqual(['mutants/package.json']);
  for (const path of others) {
    const { dependencies = {}, devDependencies } = manifestOf(path);
    expect(dependencies).toEqual({});
    expect(Object.keys(devDependencies).filter((name) => name in manifest.dependencies || name in manifest.devDependencies)).toEqual([]);
  }
});

it('docs/architecture.md says why each package is there', () => {
  const [, table = ''] = readProjectFile('docs/architecture.md').split('## Packages');
  const rows = [...table.matchAll(/^\| `([^`]+)` \| \S/gm)].map(([, name]) => name);
  const packages = [manifest, ...others.map(manifestOf)].flatMap(({ dependencies, devDependencies }) => [
    ...Object.keys(dependencies ?? {}),
    ...Object.keys(devDependencies),
  ]);
  expect(rows).toEqual(packages);
});

it('finds what is not declared, declared in the wrong place, and not used', () => {
  const files = [
    {
      path: 'src/a.ts',
      text: `import { b } from '@x/b/part.ts'; import { c } from './c.ts'; import { join } from 'node:path'; import 'w';`,
    },
    { path: 'test/a.ts', text: `const d = await import('d'); import { w } from 'w'; import { e } from 'e'; import { v } from 'v';` },
  ];
  expect(dependencyFaults(files, { name: 'w', dependencies: { e: '1' }, devDependencies: { '@x/b': '1', v: '1' } })).toEqual([
    'src imports @x/b, which is no dependency',
    'src imports w, which is no dependency',
    'd is imported and not declared',
    'src does not import e',
  ]);
});

it('finds a licence that asks for more, and none, among what is shipped', () => {
  const packages = { '': {}, a: { license: 'MIT' }, b: { license: 'GPL-3.0' }, c: {}, d: { license: 'MPL-2.0', dev: true } };
  expect(licenceFaults(JSON.stringify({ packages }))).toEqual(['b is under GPL-3.0', 'c is under no licence']);
});
