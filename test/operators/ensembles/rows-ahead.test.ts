import { describe, expect, it } from 'vitest';
import { RowsAhead } from '../../../src/operators/ensembles/rows-ahead.ts';
import { type Asked, HandEnsemble, type HandStep } from '../../support/hand-ensemble.ts';

describe('how far a step is ahead', () => {
  const marks = { pauseRows: 4, pauseBytes: 100, refuseRows: 8, refuseBytes: 1000 };

  it('makes its model wait from a number of rows on, until half of them are over', () => {
    const ahead = new RowsAhead(marks);
    for (let row = 1; row <= 4; row++) {
      expect(ahead.isPaused).toBe(false);
      ahead.beginRow();
    }
    expect(ahead.isPaused).toBe(true);
    expect([ahead.endRow(0), ahead.isPaused]).toEqual([false, true]);
    expect([ahead.endRow(0), ahead.isPaused]).toEqual([true, false]);
    expect(ahead.endRow(0)).toBe(false);
  });

  it('counts bytes too, and both must be few again', () => {
    const ahead = new RowsAhead(marks);
    ahead.beginRow();
    ahead.addBytes(99);
    expect(ahead.isPaused).toBe(false);
    ahead.beginRow();
    ahead.addBytes(1);
    expect([ahead.isPaused, ahead.endRow(1), ahead.endRow(99)]).toEqual([true, false, true]);
  });

  it('is full at the second marks', () => {
    const [rows, bytes] = [new RowsAhead(marks), new RowsAhead(marks)];
    for (let row = 1; row <= 7; row++) rows.beginRow();
    bytes.addBytes(999);
    expect([rows.isFull, bytes.isFull]).toEqual([false, false]);
    rows.beginRow();
    bytes.addBytes(1);
    expect([rows.isFull, bytes.isFull]).toEqual([true, true]);
  });
});

const demandOf = ({ request: { demand } }: Asked) => {
  if (demand === undefined) throw new Error('it is told nothing');
  return demand;
};

/** Gives an answer that others follow. */
const more = (asked: Asked, byte: number): void => asked.answer({ y: byte }, { isLast: false });

describe('a step that answers many times behind another one', () => {
  const steps: readonly HandStep[] = [
    { model: 'many', in: { x: 'IN' }, out: { y: 't' }, isDecoupled: true },
    { model: 'again', in: { x: 't' }, out: { y: 'u' }, isDecoupled: true },
    { model: 'slow', in: { x: 'u' }, out: { y: 'OUT' } },
  ];

  it('waits for the steps behind with all of its runs together, though each has made a row or none', () => {
    const e = new HandEnsemble(steps, ['OUT'], { limit: 2 });
    const heard = e.ask({ IN: 1 });
    for (let row = 1; row <= 4; row++) {
      more(e.model('many').last, row);
      e.model('again').last.answer({ y: row });
    }
    more(e.model('many').last, 5);
    const fifth = e.model('again').last;
    // Rows of `many` are over as soon as `again` has ended with them.
    expect([demandOf(e.model('many').last).isOpen, demandOf(fifth).isOpen]).toEqual([true, false]);
    let reopened = 0;
    demandOf(fifth).onOpen = () => reopened++;
    for (let row = 6; demandOf(e.model('many').last).isOpen; row++) more(e.model('many').last, row);
    expect(e.running.graph().stages.map(({ queued, running }) => queued + running)).toEqual([1, 4, 4]);
    for (const row of [1, 2]) e.model('slow').asked[row - 1]?.answer({ y: row });
    expect([demandOf(fifth).isOpen, reopened, heard.answers]).toEqual([true, 1, [{ OUT: 1 }, { OUT: 2 }]]);
    heard.caller.unsubscribe();
    expect(e.running.graph().stages.map(({ queued, running }) => queued + running)).toEqual([0, 0, 0]);
  });

  it('and does not wait ends the request past the second mark, as one that answers so often itself', () => {
    const e = new HandEnsemble(steps, ['OUT'], { limit: 1 });
    const heard = e.ask({ IN: 1 });
    for (let row = 0; row < 20_000 && heard.end === 'open'; row++) {
      more(e.model('many').last, 1);
      if (heard.end === 'open') e.model('again').last.answer({ y: 1 });
    }
    expect(heard.end).toMatchObject({ code: 'RESOURCE_EXHAUSTED', message: expect.stringContaining("(step 1, model 'again')") });
  });
});

describe('a step whose model a later step asks too', () => {
  const steps: readonly HandStep[] = [
    { model: 'many', in: { x: 'IN' }, out: { y: 't' }, isDecoupled: true },
    { model: 'plain', in: { x: 't' }, out: { y: 'u' } },
    { model: 'many', in: { x: 'u' }, out: { y: 'OUT' }, isDecoupled: true },
  ];

  it('is not told to wait for it, since it might wait for itself', () => {
    const e = new HandEnsemble(steps, ['OUT'], { limit: 1 });
    const heard = e.ask({ IN: 1 });
    const [first] = e.model('many').asked;
    if (first === undefined) throw new Error('it was not asked');
    for (let row = 0; row < 1000; row++) {
      expect(demandOf(first).isOpen).toBe(true);
      more(first, row % 256);
    }
    first.complete();
    for (let row = 0; row < 1000; row++) {
      e.model('plain').last.answer({ y: row % 256 });
      e.model('many').last.answer({ y: row % 256 });
    }
    expect([heard.answers.length, heard.end]).toEqual([1000, 'complete']);
  });

  it('waits for whoever asks all the same', () => {
    const e = new HandEnsemble(steps, ['OUT'], { limit: 1 });
    const demand = { isOpen: false, onOpen: undefined };
    e.ask({ IN: 1 }, { demand });
    expect(demandOf(e.model('many').last).isOpen).toBe(false);
  });
});

it('a fast and a slow step that meet again behind a fast one never stop, without a limit of requests too', () => {
  const steps: readonly HandStep[] = [
    { model: 'many', in: { x: 'IN' }, out: { y: 't' }, isDecoupled: true },
    { model: 'fast', in: { x: 't' }, out: { y: 'f' } },
    { model: 'slow', in: { x: 't' }, out: { y: 's' } },
    { model: 'join', in: { p: 'f', q: 's' }, out: { y: 'OUT' } },
  ];
  for (const limit of [0, 1, 7]) {
    const e = new HandEnsemble(steps, ['OUT'], { limit });
    const heard = e.ask({ IN: 1 });
    const many = e.model('many').last;
    const demand = demandOf(many);
    const sent = { fast: 0, slow: 0, join: 0 };
    /** Answers everything that a step was asked, or the one request that it was asked first. */
    const serve = (step: 'fast' | 'slow' | 'join', most: number): void => {
      const { asked } = e.model(step);
      for (let left = most; left > 0 && sent[step] < asked.length; left--) asked[sent[step]++]?.answer({ y: 1 });
    };
    let made = 0;
    let most = 0;
    for (let round = 0; round < 10_000 && heard.end === 'open'; round++) {
      for (; demand.isOpen && made < 1000; made++) more(many, made % 256);
      if (made === 1000 && !many.isEnded) many.complete();
      serve('fast', Number.POSITIVE_INFINITY);
      most = Math.max(most, ...e.running.graph().stages.map(({ queued, running }) => queued + running));
      serve('slow', 1);
      serve('join', 1);
    }
    expect([heard.end, heard.answers.length, most]).toEqual(['complete', 1000, limit === 0 ? 256 : 2 * limit]);
  }
});
