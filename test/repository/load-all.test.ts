import { expect, it } from 'vitest';
import { loadAll } from '../../src/repository/load-all.ts';

it('loads a few at a time, and the next as soon as one is done', async () => {
  const begun: string[] = [];
  const finish = new Map<string, () => void>();
  const load = (item: string): Promise<void> => {
    begun.push(item);
    return new Promise((resolve) => finish.set(item, resolve));
  };
  const loaded = loadAll(['a', 'b', 'c', 'd'], 2, load);
  expect(begun).toEqual(['a', 'b']);
  finish.get('b')?.();
  await new Promise(setImmediate);
  expect(begun).toEqual(['a', 'b', 'c']);
  finish.get('a')?.();
  finish.get('c')?.();
  await new Promise(setImmediate);
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  finish.get('d')?.();
  await loaded;
});
