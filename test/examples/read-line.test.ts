import { expect, it } from 'vitest';
import { readLine } from '../../scripts/examples/models/ocr_text/1/read-line.ts';

const alphabet = ['a', 'b', ' '];
const read = (...characters: number[]) =>
  readLine(
    Int32Array.from(characters),
    Float32Array.from(characters, (character) => character / 4),
    alphabet,
  );

it('reads a character that repeats once, and twice with a blank between', () => {
  expect(read(0, 1, 1, 0, 1, 2, 2, 0)).toEqual({ text: 'aab', score: (0.25 + 0.25 + 0.5) / 3 });
});

it('cuts spaces at the ends', () => {
  expect(read(3, 1, 3, 2, 3).text).toBe('a b');
});

it('is not sure of an empty line', () => {
  expect(read(0, 0)).toEqual({ text: '', score: 0 });
  expect(read()).toEqual({ text: '', score: 0 });
});
