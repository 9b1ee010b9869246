import { observeOn, of, timer } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { epochMs, machineScheduler } from '../../../src/streams/flow/clock.ts';

describe('machineScheduler', () => {
  it('tells fractional milliseconds', () => {
    const before = performance.now();
    const now = machineScheduler.now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(performance.now());
  });

  it('runs work without delay after the promises of the tick', async () => {
    const order: string[] = [];
    const ran = new Promise<void>((resolve) => {
      machineScheduler.schedule(() => {
        order.push('work');
        resolve();
      }, 0);
    });
    order.push('tick');
    await Promise.resolve().then(() => order.push('promise'));
    await ran;
    expect(order).toEqual(['tick', 'promise', 'work']);
  });

  it.each([0.1, 0.5, 1, 3.7])('never runs before a delay of %d ms', async (delayMs) => {
    for (let n = 0; n < 20; n++) {
      const startMs = performance.now();
      await new Promise<void>((resolve) => machineScheduler.schedule(() => resolve(), delayMs));
      expect(performance.now() - startMs).toBeGreaterThanOrEqual(delayMs);
    }
  });

  it('takes a delay longer than a Node timer can', async () => {
    let hasRun = false;
    const pending = machineScheduler.schedule(() => {
      hasRun = true;
    }, 2 ** 40);
    await new Promise((resolve) => machineScheduler.schedule(resolve, 2));
    pending.unsubscribe();
    expect(hasRun).toBe(false);
  });

  it.each([0, 0.2, 2])('forgets work that is unsubscribed (%d ms)', async (delayMs) => {
    let hasRun = false;
    machineScheduler
      .schedule(() => {
        hasRun = true;
      }, delayMs)
      .unsubscribe();
    await new Promise((resolve) => machineScheduler.schedule(resolve, delayMs + 1));
    expect(hasRun).toBe(false);
  });

  it('keeps a shorter wait than a timer can by turns of the event loop, and any other by a timer', () => {
    const count = (kind: string): number => process.getActiveResourcesInfo().filter((each) => each === kind).length;
    const before = { turns: count('Immediate'), timers: count('Timeout') };
    const added = (delayMs: number): readonly number[] => {
      const pending = machineScheduler.schedule(() => {}, delayMs);
      const now = [count('Immediate') - before.turns, count('Timeout') - before.timers];
      pending.unsubscribe();
      expect([count('Immediate'), count('Timeout')]).toEqual([before.turns, before.timers]);
      return now;
    };
    expect([0, 0.2, 0.499].map(added)).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
    expect([0.5, 1, 2 ** 40].map(added)).toEqual([
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
  });

  it('lets work that runs set its next time, the last setting counts, and none after the end', async () => {
    const seen: string[] = [];
    await new Promise<void>((resolve) => {
      const pending = machineScheduler.schedule<string>(
        function (state = '') {
          seen.push(state);
          if (state === 'first') {
            this.schedule('dropped', 0);
            this.schedule('dropped too', 0.1);
            this.schedule('second', 1);
            return;
          }
          pending.unsubscribe();
          this.schedule('after the end', 0);
          machineScheduler.schedule(() => resolve(), 2);
        },
        0,
        'first',
      );
      expect(pending.closed).toBe(false);
      seen.push('begun');
    });
    expect(seen).toEqual(['begun', 'first', 'second']);
  });

  it('is over once it is unsubscribed', () => {
    const pending = machineScheduler.schedule(() => {}, 5);
    pending.unsubscribe();
    expect(pending.closed).toBe(true);
  });

  it('passes the state and repeats, for stock operators', async () => {
    const states = await new Promise<number[]>((resolve) => {
      const seen: number[] = [];
      machineScheduler.schedule<number>(
        function (n) {
          seen.push(n);
          if (n < 3) this.schedule(n + 1, 0.1);
          else resolve(seen);
        },
        0,
        1,
      );
    });
    expect(states).toEqual([1, 2, 3]);
    const ticks: number[] = [];
    await new Promise<void>((resolve) => {
      const ticking = timer(0, 0.2, machineScheduler).subscribe((n) => {
        ticks.push(n);
        if (n < 3) return;
        ticking.unsubscribe();
        resolve();
      });
    });
    expect(ticks).toEqual([0, 1, 2, 3]);
    const observed: number[] = [];
    await new Promise<void>((complete) => {
      of(1, 2)
        .pipe(observeOn(machineScheduler))
        .subscribe({ next: (n) => observed.push(n), complete });
    });
    expect(observed).toEqual([1, 2]);
  });
});

describe('epochMs', () => {
  it('is the date', () => {
    expect(Math.abs(epochMs() - Date.now())).toBeLessThan(1000);
  });
});
