import { describe, expect, it } from 'vitest';
import { type Hashed, HashTable } from '../../../src/streams/flow/hash-table.ts';

interface Item extends Hashed<Item> {
  readonly name: number;
}

const item = (name: number, hash = Math.imul(name, 0x9e3779b1) >>> 0): Item => ({ name, hash, nextInBucket: undefined });

const find = (table: HashTable<Item>, { name, hash }: Item): Item | undefined => {
  for (let each = table.first(hash); each !== undefined; each = each.nextInBucket) if (each.name === name) return each;
  return undefined;
};

const longest = (table: HashTable<Item>, items: readonly Item[]): number => {
  let most = 0;
  for (const { hash } of items) {
    let length = 0;
    for (let each = table.first(hash); each !== undefined; each = each.nextInBucket) length++;
    most = Math.max(most, length);
  }
  return most;
};

describe('HashTable', () => {
  it('finds what is in it, however many there are, and nothing else', () => {
    const table = new HashTable<Item>();
    const items = Array.from({ length: 5000 }, (_, n) => item(n));
    items.forEach((each, index) => {
      expect(find(table, each)).toBeUndefined();
      table.add(each);
      expect(table.size).toBe(index + 1);
    });
    expect(items.every((each) => find(table, each) === each)).toBe(true);
    expect(longest(table, items)).toBeLessThan(12);
  });

  it('takes out any of those that share a bucket, and cuts it loose', () => {
    const table = new HashTable<Item>();
    const items = Array.from({ length: 9 }, (_, n) => item(n, n % 2));
    for (const each of items) table.add(each);
    const order = [4, 0, 8, 1, 2, 3, 7, 6, 5];
    order.forEach((name, index) => {
      const leaving = items[name];
      if (leaving === undefined) throw new Error('none');
      expect(table.remove(leaving)).toBe(true);
      expect(leaving.nextInBucket).toBeUndefined();
      expect(table.remove(leaving)).toBe(false);
      const left = order.slice(index + 1);
      expect(items.filter((each) => find(table, each) === each).map((each) => each.name)).toEqual(left.toSorted((a, b) => a - b));
    });
    expect(table.size).toBe(0);
  });

  it('has as many buckets as there were items at most, whatever has come and gone', () => {
    const table = new HashTable<Item>();
    for (let n = 0; n < 100; n++) {
      table.add(item(n));
      for (let each = table.first(0); each !== undefined; each = table.first(0)) table.remove(each);
    }
    const [one, other] = [item(1, 0), item(2, 2)];
    for (const each of [one, other]) table.add(each);
    // Of two buckets these share the first.
    expect(table.first(0)).toBe(table.first(2));
    expect([find(table, one), find(table, other)]).toEqual([one, other]);
  });

  it('uses all 32 bits of a hash', () => {
    const table = new HashTable<Item>();
    const [low, high] = [item(1, 0), item(2, 0xffffffff)];
    for (const each of [low, high]) table.add(each);
    for (let n = 3; n < 300; n++) table.add(item(n));
    expect([find(table, low), find(table, high)]).toEqual([low, high]);
  });
});
