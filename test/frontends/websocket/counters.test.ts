import { expect, it } from 'vitest';
import { countClose } from '../../../src/frontends/websocket/counters.ts';

it('counts the codes that clients make up by thousand', () => {
  const closes = new Map<number, number>();
  for (let code = 3000; code < 5000; code++) countClose(closes, code);
  countClose(closes, 1000);
  countClose(closes, 1000);
  expect(closes).toEqual(
    new Map([
      [3000, 1000],
      [4000, 1000],
      [1000, 2],
    ]),
  );
});
