import { expect, it } from 'vitest';
import { type JoinPlan, JoinRow, joinPlan } from '../../../src/streams/flow/join-row.ts';

/** Sources 0, 1 and 2; joint 0 takes 0 and, twice, 1; joint 1 takes 1; nobody takes 2. */
const makePlan = (): JoinPlan => joinPlan(3, [[0, 1, 1], [1]]);

const valuesOf = (row: JoinRow<string>): unknown => [0, 1, 2].map((source) => row.get(source));

it('says which joints lack nothing any more, each once', () => {
  const row = new JoinRow<string>(makePlan());
  const whole: number[] = [];
  expect(valuesOf(row)).toEqual([undefined, undefined, undefined]);
  row.settle(2, 'c', whole);
  row.settle(1, 'b', whole);
  expect(whole).toEqual([1]);
  row.settle(0, undefined, whole);
  expect(whole).toEqual([1, 0]);
  expect(valuesOf(row)).toEqual([undefined, 'b', undefined]);
});

it('keeps a value until all that take it have let go, in each row of a plan', () => {
  const plan = makePlan();
  for (let rows = 0; rows < 2; rows++) {
    const row = new JoinRow<string>(plan);
    const whole: number[] = [];
    row.settle(0, 'a', whole);
    row.settle(1, 'b', whole);
    expect(whole).toEqual([0, 1]);
    row.replace(1, 'B');
    row.letGo(1);
    expect(valuesOf(row)).toEqual(['a', 'B', undefined]);
    row.letGo(0);
    expect(valuesOf(row)).toEqual([undefined, undefined, undefined]);
  }
});
