import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LevelRule } from '../../../src/streams/flow/priority-lane.ts';
import { PriorityLane } from '../../../src/streams/flow/priority-lane.ts';
import type { Place } from '../../../src/streams/flow/waiting-list.ts';

interface Item {
  readonly name: string;
  readonly level: bigint;
  readonly dueMs: number;
}

const rule = (fields: Partial<LevelRule<Item>> = {}): LevelRule<Item> => ({
  limit: 100,
  whenDue: 'reject',
  deadlineMs: ({ dueMs }) => dueMs,
  ...fields,
});

const makeLane = (rules: Readonly<Record<string, LevelRule<Item>>> = {}): PriorityLane<Item> =>
  new PriorityLane({ levelOf: ({ level }) => level, ruleOf: (level) => rules[`${level}`] ?? rule() });

/** `a1`: an item named a of level 1; `b2@7` is due at 7. */
const parse = (text: string): Item => {
  const [, name = '', level = '', dueMs] = /^([a-z])(\d+)(?:@(\d+))?$/.exec(text) ?? [];
  return { name, level: BigInt(level), dueMs: dueMs === undefined ? Number.POSITIVE_INFINITY : Number(dueMs) };
};

const push = (lane: PriorityLane<Item>, texts: string): readonly Place<Item>[] => texts.split(' ').map((text) => lane.push(parse(text)));

const namesIn = (lane: PriorityLane<Item>): string => [...lane].map(({ name }) => name).join('');

const delaying = { 1: rule({ whenDue: 'delay' }), 2: rule({ whenDue: 'delay' }) };

describe('PriorityLane', () => {
  it('gives out the most urgent level first, each in order of arrival', () => {
    const lane = makeLane();
    push(lane, 'a3 b3 c1 d2 e1');
    expect(namesIn(lane)).toBe('cedab');
    expect([1, 2, 3, 4, 5, 6].map(() => lane.shift()?.name)).toEqual(['c', 'e', 'd', 'a', 'b', undefined]);
    expect(lane.length).toBe(0);
  });

  it('takes levels as large as they come', () => {
    const lane = makeLane();
    push(lane, `a${2n ** 64n - 1n} b${2n ** 63n} c0 d${2n ** 32n + 1n}`);
    expect(namesIn(lane)).toBe('cdba');
  });

  it('rejects what is past its deadline, and not what is at it', () => {
    const lane = makeLane();
    push(lane, 'a1@5 b1 c1@3 d2@5');
    expect(lane.nextDeadlineMs).toBe(3);
    expect(lane.expire(3)).toBeUndefined();
    expect([lane.expire(6), lane.expire(6), lane.expire(6), lane.expire(6)].map((item) => item?.name)).toEqual(['c', 'a', 'd', undefined]);
    expect(namesIn(lane)).toBe('b');
    expect(lane.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('lets a delayed item wait on behind all of its level and before the next level, without a deadline', () => {
    const lane = makeLane(delaying);
    push(lane, 'a1@5 b2 c1@3 d1');
    expect(lane.expire(10)).toBeUndefined();
    expect(namesIn(lane)).toBe('dcab');
    push(lane, 'e1');
    expect(namesIn(lane)).toBe('decab');
    expect([lane.nextDeadlineMs, lane.length]).toEqual([Number.POSITIVE_INFINITY, 5]);
  });

  it('is full by level, and counts the delayed', () => {
    const lane = makeLane({ 1: rule({ limit: 2, whenDue: 'delay' }), 2: rule({ limit: 1 }) });
    const isFull = (): readonly boolean[] => ['x1', 'x2'].map((text) => lane.isFull(parse(text)));
    expect(isFull()).toEqual([false, false]);
    push(lane, 'a1@5 b1');
    lane.expire(10);
    expect(isFull()).toEqual([true, false]);
    push(lane, 'c2');
    lane.shift();
    expect(isFull()).toEqual([false, true]);
  });

  it('forgets all of it', () => {
    const lane = makeLane(delaying);
    const places = push(lane, 'a1@5 b2@7 c1@3');
    lane.expire(4);
    lane.clear();
    expect([lane.length, namesIn(lane), lane.nextDeadlineMs]).toEqual([0, '', Number.POSITIVE_INFINITY]);
    expect(places.map((place) => lane.remove(place))).toEqual([false, false, false]);
    push(lane, 'd9');
    expect([lane.shift()?.name, lane.length]).toEqual(['d', 0]);
  });

  it('does as sorted arrays do', () => {
    const item = fc.record({ level: fc.bigInt({ min: 1n, max: 4n }), dueMs: fc.constantFrom(2, 4, 6, 8, Number.POSITIVE_INFINITY) });
    const step = fc.oneof(
      { weight: 4, arbitrary: item },
      { weight: 2, arbitrary: fc.nat(40) },
      { weight: 1, arbitrary: fc.constantFrom('shift' as const, 'later' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const lane = makeLane(delaying);
        let nowMs = 0;
        let model: (Item & { readonly late: number })[] = [];
        const places: Place<Item>[] = [];
        for (const step of steps) {
          if (step === 'shift') {
            expect(lane.shift()?.name).toBe(model.shift()?.name);
          } else if (step === 'later') {
            nowMs += 1;
            const isLate = (one: Item): boolean => nowMs > one.dueMs;
            const rejected = model.filter((one) => one.level > 2n && isLate(one)).map(({ name }) => name);
            const expired = [];
            for (let out = lane.expire(nowMs); out !== undefined; out = lane.expire(nowMs)) expired.push(out.name);
            expect(expired.sort()).toEqual(rejected.sort());
            model = model.filter(({ name }) => !rejected.includes(name)).map((one) => (isLate(one) ? { ...one, late: one.dueMs } : one));
          } else if (typeof step === 'number') {
            const place = places[step];
            if (place === undefined) continue;
            const waits = model.some(({ name }) => name === place.item.name);
            expect(place.isTaken).toBe(waits);
            expect(lane.remove(place)).toBe(waits);
            model = model.filter(({ name }) => name !== place.item.name);
          } else {
            const pushed = { name: `${places.length}`, ...step, dueMs: step.dueMs + nowMs };
            places.push(lane.push(pushed));
            model.push({ ...pushed, late: 0 });
          }
          model.sort((a, b) => Number(a.level - b.level) || a.late - b.late || Number(a.name) - Number(b.name));
          expect([...lane].map(({ name }) => name)).toEqual(model.map(({ name }) => name));
          expect(lane.length).toBe(model.length);
        }
      }),
    );
  });
});
