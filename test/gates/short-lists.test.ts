import { expect, it } from 'vitest';
import { shortListFaults } from './support/short-lists.ts';
import { projectFiles, readProjectFile } from './support/source-file.ts';

it('has property tests try lists and texts as long as they may be', () => {
  const files = projectFiles('property-tests')
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: readProjectFile(path) }));
  expect(files.length).toBeGreaterThan(20);
  expect(shortListFaults(files)).toEqual([]);
});

it.each([
  [`fc.array(x, { maxLength: 40 })`, 1],
  [`fc.array(x, {\n  minLength: 1,\n  maxLength: 13,\n})`, 1],
  [`fc.commands(x, { maxCommands: 60 })`, 1],
  [`fc.array(x, { maxLength: 40, size: 'max' })`, 0],
  [`fc.array(x, { minLength: 20, maxLength: 50 })`, 0],
  [`fc.array(x, { maxLength: 10 })`, 0],
])('finds a length that is never tried: %s', (text, count) => {
  expect(shortListFaults([{ path: 'property-tests/a.test.ts', text }])).toHaveLength(count);
});
