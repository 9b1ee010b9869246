import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Alarm } from '../../../src/streams/flow/alarm.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

describe('Alarm', () => {
  let time: VirtualTime;
  let rings: number[];
  let alarm: Alarm;

  beforeEach(() => {
    time = new VirtualTime();
    rings = [];
    alarm = new Alarm(time, (nowMs) => rings.push(nowMs));
  });

  it('rings once, at the earliest time that it was set for', () => {
    for (const dueMs of [30, 20, 25]) alarm.setFor(dueMs);
    expect(time.pending).toBe(1);
    time.advance(100);
    expect(rings).toEqual([20]);
    expect(time.pending).toBe(0);
  });

  it('rings at the end of the tick for a time that is past', () => {
    time.advance(10);
    alarm.setFor(5);
    time.advance(0);
    expect(rings).toEqual([10]);
  });

  it('keeps its timer for the same time, and sets none for infinity', () => {
    const schedule = vi.spyOn(time, 'schedule');
    alarm.setFor(0.1 + 0.2);
    alarm.setFor(0.3);
    alarm.setFor(Number.POSITIVE_INFINITY);
    expect([time.pending, schedule.mock.calls.length]).toEqual([1, 1]);
  });

  it('can be set again while it rings, and stopped', () => {
    const again = new Alarm(time, (nowMs) => {
      rings.push(nowMs);
      again.setFor(nowMs + 5);
    });
    again.setFor(1);
    time.advance(11);
    expect(rings).toEqual([1, 6, 11]);
    again.stop();
    time.advance(100);
    expect(rings.length).toBe(3);
    expect(time.pending).toBe(0);
  });
});
