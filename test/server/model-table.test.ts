import { expect, it } from 'vitest';
import { modelTable } from '../../src/server/model-table.ts';

it('has a line for each version, and reasons in one line', () => {
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
