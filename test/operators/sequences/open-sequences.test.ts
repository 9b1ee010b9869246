import { expect, it } from 'vitest';
import { OpenSequences } from '../../../src/operators/sequences/open-sequences.ts';

it('tells when no sequence is left', async () => {
  const open = new OpenSequences();
  await open.whenNone();
  open.opened();
  open.opened();
  let isNone = false;
  const none = open.whenNone().then(() => {
    isNone = true;
  });
  open.closed();
  await Promise.resolve();
  expect([open.count, isNone]).toEqual([1, false]);
  open.closed();
  await none;
  expect(open.count).toBe(0);
});
