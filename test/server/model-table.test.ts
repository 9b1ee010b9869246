import { expect, it } from 'vitest';
import { modelTable } from '../../src/server/model-table.ts';

it('has a line for each version, whatever lines its reason came in', () => {
  const lines = modelTable([
    { name: 'a', version: '1', state: 'READY' },
    { name: 'longer', state: 'UNAVAILABLE', reason: 'Invalid argument: two faults:\n  one\n  two' },
  ]);
  expect(lines).toEqual([
    '+--------+---------+-------------+---------------------------------------+',
    '| Model  | Version | Status      | Reason                                |',
    '+--------+---------+-------------+---------------------------------------+',
    '| a      | 1       | READY       |                                       |',
    '| longer | -       | UNAVAILABLE | Invalid argument: two faults: one two |',
    '+--------+---------+-------------+---------------------------------------+',
  ]);
});

it('is a table also of no models', () => {
  expect(modelTable([])).toHaveLength(4);
});

it('breaks a long reason between words and never loses one', () => {
  const path = `/models/${'x'.repeat(150)}`;
  const reason = `Invalid argument: ${'many words '.repeat(20)}${path} end`;
  const lines = modelTable([{ name: 'a', version: '1', state: 'UNAVAILABLE', reason }]).slice(3, -1);
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.map((line) => line.split('|')[4]?.trim()).join(' ')).toBe(reason.replaceAll(/\s+/g, ' '));
  expect(lines.slice(1).every((line) => line.startsWith('|       |'))).toBe(true);
});
