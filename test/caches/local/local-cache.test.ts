import { describe, expect, it } from 'vitest';
import { costOf } from '../../../src/caches/local/cache-entry.ts';
import { LocalCache } from '../../../src/caches/local/local-cache.ts';
import { readSize } from '../../../src/caches/local/read-size.ts';
import type { CachedAnswers, CacheKey } from '../../../src/streams/inference/response-cache.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';
import { makeLog } from '../../support/model.ts';

/** A key whose content is its name, under a hash of one's choice. */
const keyOf = (name: string, hash = name.length): CacheKey => {
  const content = Buffer.from(name);
  return {
    digest: `${hash}`,
    hash,
    head: 'head',
    inputBytes: content.byteLength,
    copyInputs: () => Buffer.from(content),
    equals: (head, inputs) => head === 'head' && inputs.equals(content),
  };
};

const answersOf = (fill: number, size = 8): CachedAnswers => {
  const memory = Buffer.alloc(size, fill);
  return [{ parameters: new Map(), outputs: new Map([['OUT', new Tensor('UINT8', [size], memory)]]), memory }];
};

const cost = costOf(keyOf('a'), answersOf(1));

describe('LocalCache', () => {
  it('keeps answers under their whole key: the same hash and digest are not enough', () => {
    const cache = new LocalCache({ sizeBytes: 100_000, log: makeLog() });
    const [one, other] = [answersOf(1), answersOf(2)];
    cache.insert(keyOf('a', 7), one);
    expect(cache.lookup(keyOf('b', 7))).toBeUndefined();
    cache.insert(keyOf('b', 7), other);
    expect([cache.lookup(keyOf('a', 7)), cache.lookup(keyOf('b', 7))]).toEqual([one, other]);
  });

  it('lets go what was not used for longest', () => {
    const cache = new LocalCache({ sizeBytes: 3 * cost, log: makeLog() });
    for (const name of ['a', 'b', 'c']) cache.insert(keyOf(name), answersOf(1));
    cache.lookup(keyOf('a'));
    cache.insert(keyOf('b'), answersOf(1));
    cache.insert(keyOf('d'), answersOf(1));
    cache.insert(keyOf('e'), answersOf(1));
    expect(['a', 'b', 'c', 'd', 'e'].filter((name) => cache.lookup(keyOf(name)) !== undefined)).toEqual(['b', 'd', 'e']);
    expect(cache.fill()).toEqual({ entries: 3, evictions: 2, utilization: 1 });
  });

  it('lets go as many as a large one needs, and never holds more than its size', () => {
    const cache = new LocalCache({ sizeBytes: 4 * cost, log: makeLog() });
    for (const name of ['a', 'b', 'c', 'd']) cache.insert(keyOf(name), answersOf(1));
    cache.insert(keyOf('e'), answersOf(1, 8 + 2 * cost));
    expect(['a', 'b', 'c', 'd', 'e'].filter((name) => cache.lookup(keyOf(name)) !== undefined)).toEqual(['d', 'e']);
    expect(cache.fill().utilization).toBe(1);
  });

  it('takes nothing larger than itself, says so once, and lets nothing go for it', () => {
    const log = makeLog();
    const cache = new LocalCache({ sizeBytes: cost, log });
    cache.insert(keyOf('a'), answersOf(1));
    for (const name of ['b', 'c']) cache.insert(keyOf(name), answersOf(1, 9));
    expect(cache.lookup(keyOf('a'))).toBeDefined();
    expect(log.lines).toEqual([
      `warning Failed to insert key [1] into response cache: Requested byte_size: ${cost + 1} is greater than total cache size: ${cost}`,
    ]);
  });

  it('keeps the first of two equal entries', () => {
    const cache = new LocalCache({ sizeBytes: 10 * cost, log: makeLog() });
    const first = answersOf(1);
    cache.insert(keyOf('a'), first);
    cache.insert(keyOf('a'), answersOf(2));
    expect(cache.lookup(keyOf('a'))).toBe(first);
    expect(cache.fill().entries).toBe(1);
  });

  it('forgets all when it is closed', async () => {
    const cache = new LocalCache({ sizeBytes: 10 * cost, log: makeLog() });
    cache.insert(keyOf('a'), answersOf(1));
    await cache.close();
    expect(cache.fill()).toEqual({ entries: 0, evictions: 0, utilization: 0 });
  });

  it('keeps nothing alive that it has let go', async () => {
    const cache = new LocalCache({ sizeBytes: 8 * cost, log: makeLog() });
    const old: WeakRef<CachedAnswers>[] = [];
    const insert = (name: string): void => {
      const answers = answersOf(1);
      old.push(new WeakRef(answers));
      cache.insert(keyOf(name, 3), answers);
    };
    for (let n = 0; n < 64; n++) insert(`${n}`);
    await collectGarbage();
    expect(old.filter((each) => each.deref() !== undefined).length).toBe(cache.fill().entries);
    expect(cache.fill().entries).toBeLessThan(9);
  });

  it('counts at least what the engine takes', async () => {
    const entries = 4000;
    const cache = new LocalCache({ sizeBytes: entries * 10 * cost, log: makeLog() });
    const used = (): number => {
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    await collectGarbage();
    const before = used();
    for (let n = 0; n < entries; n++) cache.insert({ ...keyOf(`${n}`.padStart(16), n), head: 'x'.repeat(100) + n }, answersOf(1, 16));
    await collectGarbage();
    const counted = cache.fill().utilization * entries * 10 * cost;
    expect(used() - before).toBeLessThan(counted);
  });
});

describe('readSize', () => {
  it('reads bytes', () => expect(readSize('1048576')).toBe(1048576));

  it.each([undefined, ''])('refuses %j', (setting) => {
    expect(() => readSize(setting)).toThrow("Failed to initialize LocalCache: config didn't contain a valid 'size' field.");
  });

  it.each(['0', '-1', '1.5', '1k', '99999999999999999999'])('refuses %j', (setting) => {
    expect(() => readSize(setting)).toThrow("Failed to initialize LocalCache: 'size' config must be a string or uint type");
  });
});
