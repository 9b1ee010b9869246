import { expect, it } from 'vitest';
import { oldClosureFaults } from './support/old-closures.ts';
import { sourceFiles } from './support/source-file.ts';

it('assigns no function straight to a property', () => {
  expect(oldClosureFaults(sourceFiles())).toEqual([]);
});

it.each([
  'lease.onEnded = () => {};',
  'this.onEnded = function () {};',
  'run.onEnded ??= (error) => lose(error);',
  'class A { #f; g() { this.#f = () => 1; } }',
])('finds %s', (text) => {
  expect(oldClosureFaults([{ path: 'src/a.ts', text: `\n${text}` }])).toEqual(['src/a.ts:2']);
});

it.each([
  'const onEnded = () => {}; lease.onEnded = onEnded;',
  'const lease = { onEnded: () => {} };',
  'class A { readonly onEnded = () => {}; }',
  'lease.onEnded = undefined;',
])('allows %s', (text) => {
  expect(oldClosureFaults([{ path: 'src/a.ts', text }])).toEqual([]);
});
