import { expect, it } from 'vitest';
import { JoinRow, joinPlan } from '../../../src/streams/flow/join-row.ts';

/** Sources 0, 1 and 2; joint 0 takes 0 and, twice, 1; joint 1 takes 1; nobody takes 2. */
const plan = joinPlan(3, [[0, 1, 1], [1]]);

it('says which joints lack nothing any more, each once', () => {
  const row = new JoinRow<string>(plan);
  const whole: number[] = [];
  row.settle(2, 'c', whole);
  row.settle(1, 'b', whole);
  expect(whole).toEqual([1]);
  row.settle(0, undefined, whole);
  expect(whole).toEqual([1, 0]);
  expect([0, 1, 2].map((source) => row.get(source))).toEqual([undefined, 'b', undefined]);
});

it('keeps a value until all that take it have let go', () => {
  const row = new JoinRow<string>(plan);
  row.settle(0, 'a', []);
  row.settle(1, 'b', []);
  row.replace(1, 'B');
  row.letGo(1);
  expect([row.get(0), row.get(1)]).toEqual(['a', 'B']);
  row.letGo(0);
  expect([row.get(0), row.get(1)]).toEqual([undefined, undefined]);
});
