import { expect, it } from 'vitest';
import { EndedSequences } from '../../../src/operators/sequences/ended-sequences.ts';

it('remembers why the last 4,096 sequences ended, until their ids are in use again', () => {
  const ended = new EndedSequences();
  for (let id = 0n; id <= 4096n; id++) ended.note(id, `why ${id}`);
  ended.note('1', 'text');
  ended.note(2n, 'again');
  expect([0n, 1n, 2n, 3n, 4096n, '1'].map((id) => ended.why(id))).toEqual([undefined, undefined, 'again', 'why 3', 'why 4096', 'text']);
  ended.forget(2n);
  expect(ended.why(2n)).toBe(undefined);
  expect(ended.why('2')).toBe(undefined);
});

it('counts a sequence that ends again among the last', () => {
  const ended = new EndedSequences();
  for (let id = 0n; id < 4096n; id++) ended.note(id, `why ${id}`);
  ended.note(0n, 'again');
  ended.note('one', 'more');
  expect([0n, 1n, 2n].map((id) => ended.why(id))).toEqual(['again', undefined, 'why 2']);
});
