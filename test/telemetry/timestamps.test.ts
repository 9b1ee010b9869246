import { expect, it } from 'vitest';
import { createFineClock, lineHead } from '../../src/telemetry/timestamps.ts';

const time = Date.UTC(2024, 4, 20, 20, 3, 25, 829) + 0.5757;

it('writes the head of a line as Triton does', () => {
  expect(lineHead('default', 'I', time, 123)).toBe('I0520 20:03:25.829575 123');
  expect(lineHead('default', 'E', Date.UTC(2024, 0, 1), 1)).toBe('E0101 00:00:00.000000 1');
  expect(lineHead('ISO8601', 'I', time, 123)).toBe('2024-05-20T20:03:25Z I 123');
});

it('has a clock of the time of day that counts between milliseconds', () => {
  const now = createFineClock();
  const readings = Array.from({ length: 50 }, now);
  expect(readings.some((reading) => !Number.isInteger(reading))).toBe(true);
  expect(new Date(now()).getUTCFullYear()).toBeGreaterThan(2023);
});
