import { describe, expect, it, vi } from 'vitest';
import { WakeUp } from '../../../src/streams/flow/wake-up.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const setUp = () => {
  const time = new VirtualTime();
  const rung: number[] = [];
  const wakeUp = new WakeUp(time, () => rung.push(time.now()));
  const setAt = (dueMs: number): void => wakeUp.set(dueMs, dueMs - time.now());
  return { time, rung, wakeUp, setAt };
};

describe('WakeUp', () => {
  it('comes once, at the time set last', () => {
    const { time, rung, setAt } = setUp();
    setAt(5);
    setAt(3);
    setAt(7);
    time.advance(20);
    expect(rung).toEqual([7]);
  });

  it('keeps its timer when it is set to the same time', () => {
    const { time, rung, setAt } = setUp();
    setAt(0.3);
    const before = time.actions[0];
    setAt(0.1 + 0.2);
    expect(time.actions).toEqual([before]);
    time.advance(1);
    expect(rung).toHaveLength(1);
  });

  it('can be set again when it has come, to the same time too', () => {
    const { time, rung, setAt } = setUp();
    setAt(5);
    time.advance(5);
    setAt(5);
    time.advance(0);
    expect(rung).toEqual([5, 5]);
  });

  it.each([
    ['stopped', (wakeUp: WakeUp) => wakeUp.stop()],
    ['set to never', (wakeUp: WakeUp) => wakeUp.set(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)],
  ])('does not come when it is %s', (_, end) => {
    const { time, rung, wakeUp, setAt } = setUp();
    setAt(5);
    const schedule = vi.spyOn(time, 'schedule');
    end(wakeUp);
    expect([time.pending, schedule.mock.calls]).toEqual([0, []]);
    time.advance(10);
    expect(rung).toEqual([]);
  });
});
