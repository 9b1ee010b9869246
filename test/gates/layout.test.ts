import { expect, it } from 'vitest';
import { layoutFaults } from './support/layout.ts';
import { sourceFiles } from './support/source-file.ts';

it('keeps files short, and named for what they export', () => {
  expect(layoutFaults(sourceFiles())).toEqual([]);
});

it.each([
  ['a default export', 'src/operators/a.ts', 'export default 1;'],
  ['a barrel', 'src/operators/index.ts', `export * from './a.ts';`],
  ['a re-export of one name', 'src/operators/a.ts', `export { b } from './b.ts';`],
  ['a long file', 'src/operators/a.ts', 'export const a = 1;\n'.repeat(1) + '\n'.repeat(300)],
  ['a vague folder', 'src/operators/utils/a.ts', ''],
  ['a vague name', 'src/operators/tensor-helper.ts', ''],
])('finds %s', (_what, path, text) => {
  expect(layoutFaults([{ path, text }])).toHaveLength(1);
});

it.each(['src/index.ts', 'src/operators.ts'])('allows what %s exports to come from other files', (path) => {
  expect(layoutFaults([{ path, text: `export { Server } from './server.ts';` }])).toEqual([]);
});
