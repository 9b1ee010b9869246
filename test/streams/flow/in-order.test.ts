import { describe, expect, it } from 'vitest';
import type { Turn } from '../../../src/streams/flow/in-order.ts';
import { InOrder, noOrderCounters } from '../../../src/streams/flow/in-order.ts';

/** Answers are texts; the size of one is its length. */
const begin = (limit = 100, maxSize = 1000) => {
  const counters = noOrderCounters();
  const heard: string[] = [];
  const order = new InOrder<string>({
    limit,
    maxSize,
    sizeOf: (answer) => answer.length,
    keep: (answer) => answer.toUpperCase(),
    isUrgent: (error) => error === 'urgent',
    overflow: () => 'no room',
    counters,
  });
  const open = (name: string, onHeard: () => void = () => {}): Turn<string> => {
    const hear = (what: string): void => {
      heard.push(`${name} ${what}`);
      onHeard();
    };
    return order.open({ next: hear, error: hear, complete: () => hear('.') });
  };
  return { counters, heard, order, open };
};

describe('InOrder', () => {
  it('lets the first go on at once, unchanged, and holds copies of the others until it has ended', () => {
    const { open, heard, counters } = begin();
    const [a, b, c] = [open('a'), open('b'), open('c')];
    c.next('x');
    c.complete();
    b.next('yy');
    a.next('z');
    expect(heard).toEqual(['a z']);
    expect(counters).toEqual({ in: 3, out: 1, dropped: 0, held: 2, heldSize: 3 });
    a.complete();
    expect(heard).toEqual(['a z', 'a .', 'b YY']);
    b.next('w');
    b.complete();
    expect(heard).toEqual(['a z', 'a .', 'b YY', 'b w', 'b .', 'c X', 'c .']);
    expect(counters).toEqual({ in: 4, out: 4, dropped: 0, held: 0, heldSize: 0 });
  });

  it('lets an error take its turn, and an urgent one go at once', () => {
    const { open, heard } = begin();
    const [a, b, c] = [open('a'), open('b'), open('c')];
    b.error('failed');
    c.error('urgent');
    expect(heard).toEqual(['c urgent']);
    a.complete();
    expect(heard).toEqual(['c urgent', 'a .', 'b failed']);
  });

  it('does not let an urgent error overtake answers of its own question', () => {
    const { open, heard } = begin();
    const [a, b] = [open('a'), open('b')];
    b.next('x');
    b.error('urgent');
    expect(heard).toEqual([]);
    a.complete();
    expect(heard).toEqual(['a .', 'b X', 'b urgent']);
  });

  it('gives up the turn of a caller who goes away', () => {
    const { open, heard, counters } = begin();
    const [a, b, c] = [open('a'), open('b'), open('c')];
    b.next('xx');
    c.complete();
    b.unsubscribe();
    expect(counters).toMatchObject({ dropped: 1, held: 0, heldSize: 0 });
    a.unsubscribe();
    expect(heard).toEqual(['c .']);
    a.unsubscribe();
    a.next('late');
    a.complete();
    a.error('urgent');
    expect(heard).toEqual(['c .']);
    expect(counters.in).toBe(1);
  });

  it('takes nothing of a question that has ended, also while its end is held back', () => {
    const { open, heard, counters } = begin();
    const [a, b, c] = [open('a'), open('b'), open('c')];
    b.error('failed');
    c.next('x');
    c.complete();
    for (const turn of [b, c]) {
      turn.next('late');
      turn.error('urgent');
      turn.complete();
    }
    a.complete();
    expect(heard).toEqual(['a .', 'b failed', 'c X', 'c .']);
    expect(counters).toEqual({ in: 1, out: 1, dropped: 0, held: 0, heldSize: 0 });
  });

  it('fails the question whose answer finds no room, by number', () => {
    const { open, heard, counters } = begin(2);
    const [a, b, c] = [open('a'), open('b'), open('c')];
    b.next('x');
    c.next('y');
    c.next('z');
    c.next('late');
    c.complete();
    expect(heard).toEqual(['c no room']);
    expect(counters).toEqual({ in: 3, out: 0, dropped: 2, held: 1, heldSize: 1 });
    a.complete();
    expect(heard).toEqual(['c no room', 'a .', 'b X']);
  });

  it('fails the question whose answer finds no room, by size, though a single one always has it', () => {
    const { open, heard } = begin(100, 4);
    const [a, b, c] = [open('a'), open('b'), open('c')];
    b.next('longer than that');
    c.next('');
    expect(heard).toEqual(['c no room']);
    a.complete();
    expect(heard).toEqual(['c no room', 'a .', 'b LONGER THAN THAT']);
  });

  it('holds answers up to the size that it may, together', () => {
    const { open, heard, counters } = begin(100, 4);
    const [a, b, c, d] = [open('a'), open('b'), open('c'), open('d')];
    b.next('xx');
    c.next('yy');
    d.next('z');
    expect(heard).toEqual(['d no room']);
    expect(counters).toMatchObject({ held: 2, heldSize: 4 });
    a.complete();
    expect(heard).toEqual(['d no room', 'a .', 'b XX']);
  });

  it('keeps the order when callers end others and bring answers while they hear', () => {
    const { open, heard } = begin();
    const turns: Turn<string>[] = [];
    turns.push(open('a', () => turns[1]?.next('later')));
    turns.push(open('b'), open('c'));
    turns[1]?.next('sooner');
    turns[0]?.error('urgent');
    expect(heard).toEqual(['a urgent', 'b SOONER', 'b LATER']);
  });

  it('survives 20,000 rounds in one call', () => {
    const rounds = 20_000;
    const { open, heard, counters } = begin(rounds);
    const first = open('a');
    let asked = 0;
    const ask = (): void => {
      if (asked++ === rounds) return;
      const turn = open('b', ask);
      turn.complete();
    };
    ask();
    for (let n = 0; n < rounds; n++) open('c').complete();
    first.complete();
    expect(heard).toHaveLength(2 * rounds + 1);
    expect(counters.held).toBe(0);
  });
});
