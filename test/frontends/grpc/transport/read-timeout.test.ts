import { describe, expect, it } from 'vitest';
import { readTimeout } from '../../../../src/frontends/grpc/transport/read-timeout.ts';

describe('readTimeout', () => {
  it.each([
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3_000],
    ['4m', 4],
    ['5u', 0.005],
    ['6n', 0.000_006],
    ['0m', 0],
    ['00000007S', 7_000],
    ['99999999n', 99.999_999],
    ['99999999H', 359_999_996_400_000],
  ])('reads %s as %d ms', (text, ms) => {
    expect(readTimeout(text)).toBeCloseTo(ms, 9);
  });

  it.each([
    '',
    '1',
    'S',
    '123456789S',
    '-1S',
    '+1S',
    ' 1S',
    '1S ',
    '1 S',
    '1S\n',
    '1.5S',
    '1e3S',
    '1s',
    '1h',
    '1SS',
    '1S2m',
    '0x1S',
    '١S',
    '1S, 2S',
  ])('takes %j for none', (text) => {
    expect(readTimeout(text)).toBeUndefined();
  });
});
