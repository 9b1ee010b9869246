import { mergeMap, type Observable, Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { restart } from '../../../src/streams/flow/restart.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const watch = () => {
  const time = new VirtualTime();
  const lives: Subject<string>[] = [];
  const seen: string[] = [];
  const open = (): Observable<string> => {
    const life = new Subject<string>();
    lives.push(life);
    seen.push(`open at ${time.now()}`);
    return life;
  };
  const subscription = restart({ open, pauseMs: (failures) => 10 * 2 ** (failures - 1), scheduler: time })
    .pipe(
      mergeMap((life$) => {
        life$.subscribe({ error: () => seen.push('error of a life'), complete: () => seen.push('end of a life') });
        return [];
      }),
    )
    .subscribe({ error: (error) => seen.push(`failed: ${error}`) });
  return { time, lives, seen, subscription };
};

describe('restart', () => {
  it('errors when the resource fails before it was ever up', () => {
    const { lives, seen, time } = watch();
    lives[0]?.error(new Error('no such file'));
    expect(seen).toEqual(['open at 0', 'error of a life', 'failed: Error: no such file']);
    expect(time.pending).toBe(0);
  });

  it('errors when it ends before it was ever up, or cannot be opened at all', () => {
    const { lives, seen } = watch();
    lives[0]?.complete();
    expect(seen.at(-1)).toBe('failed: Error: ended before it was ready');
    const errors: unknown[] = [];
    restart({
      open: () => {
        throw new Error('thrown');
      },
      pauseMs: () => 1,
      scheduler: new VirtualTime(),
    })
      .pipe(mergeMap((life$) => life$))
      .subscribe({ error: (error: Error) => errors.push(error.message) });
    expect(errors).toEqual(['thrown']);
  });

  it('opens again after growing pauses', () => {
    const { time, lives, seen } = watch();
    lives[0]?.next('up');
    lives[0]?.error('died');
    time.advance(9);
    expect(lives).toHaveLength(1);
    time.advance(1);
    lives[1]?.error('did not start');
    time.advance(20);
    lives[2]?.next('up');
    lives[2]?.complete();
    time.advance(100);
    expect(seen).toEqual(['open at 0', 'error of a life', 'open at 10', 'error of a life', 'open at 30', 'end of a life', 'open at 70']);
  });

  it('counts anew after a life that was up for a while', () => {
    const { time, lives, seen } = watch();
    lives[0]?.next('up');
    lives[0]?.error('died');
    time.advance(10);
    lives[1]?.next('up');
    time.advance(21);
    lives[1]?.error('died');
    time.advance(100);
    expect(seen.filter((line) => line.startsWith('open'))).toEqual(['open at 0', 'open at 10', 'open at 41']);
  });

  it('goes on counting after a life that was up for no longer than the pause that its end brings', () => {
    const { time, lives, seen } = watch();
    lives[0]?.next('up');
    lives[0]?.error('died');
    time.advance(10);
    lives[1]?.next('up');
    time.advance(20);
    lives[1]?.error('died');
    time.advance(100);
    expect(seen.filter((line) => line.startsWith('open'))).toEqual(['open at 0', 'open at 10', 'open at 50']);
  });

  it('gives the resource to whoever subscribes to its life, and ends with that subscription', () => {
    const life = new Subject<string>();
    const got: string[] = [];
    const lives: Observable<string>[] = [];
    restart({ open: () => life, pauseMs: () => 1, scheduler: new VirtualTime() }).subscribe((life$) => lives.push(life$));
    const living = lives[0]?.subscribe((resource) => got.push(resource));
    life.next('up');
    expect([got, life.observed]).toEqual([['up'], true]);
    living?.unsubscribe();
    expect(life.observed).toBe(false);
  });

  it('ends the life or the pause when it is unsubscribed', () => {
    const running = watch();
    running.lives[0]?.next('up');
    running.subscription.unsubscribe();
    expect(running.lives[0]?.observed).toBe(false);
    const pausing = watch();
    pausing.lives[0]?.next('up');
    pausing.lives[0]?.error('died');
    expect(pausing.time.pending).toBe(1);
    pausing.subscription.unsubscribe();
    expect(pausing.time.pending).toBe(0);
  });
});
