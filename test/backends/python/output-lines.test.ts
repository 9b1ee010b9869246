import { expect, it } from 'vitest';
import { outputLines } from '../../../src/backends/python/output-lines.ts';

it('cuts output into lines, across chunks and inside characters, and bounds them', () => {
  const lines: string[] = [];
  const { write, end } = outputLines((line) => lines.push(line));
  const bytes = Buffer.from('one\r\ntwö\nthr');
  for (const byte of bytes) write(Buffer.from([byte]));
  write(Buffer.from('ee\n\n'));
  expect(lines).toEqual(['one', 'twö', 'three', '']);
  write(Buffer.alloc(150_000, 'x'));
  expect(lines.slice(4).map(({ length }) => length)).toEqual([65_536, 65_536]);
  end();
  expect(lines.at(-1)).toHaveLength(150_000 - 2 * 65_536);
});
