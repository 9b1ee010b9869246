import { describe, expect, it } from 'vitest';
import { Outbox } from '../../../src/streams/flow/outbox.ts';

/** A sink with room for `room` items until it is told of more. */
const makeOutbox = ({
  room = 0,
  pauseAboveBytes = 1000,
  refuseAboveBytes = 2000,
  onWrite = (_: string): unknown => undefined,
  onResume = (): unknown => undefined,
} = {}) => {
  const state = { room, written: [] as string[], said: [] as string[] };
  const outbox = new Outbox<string>({
    write: (item) => {
      state.written.push(item);
      onWrite(item);
      state.room--;
      return state.room > 0;
    },
    size: (item) => item.length,
    pauseAboveBytes,
    refuseAboveBytes,
    onPause: () => state.said.push('pause'),
    onResume: () => {
      state.said.push('resume');
      onResume();
    },
  });
  const makeRoom = (more: number): void => {
    state.room = more;
    outbox.drained();
  };
  return { outbox, state, makeRoom };
};

const item = (letter: string): string => letter.repeat(400);

describe('Outbox', () => {
  it('holds nothing while the sink has room', () => {
    const { outbox, state } = makeOutbox({ room: 10 });
    expect([outbox.offer('a'), outbox.offer('b')]).toEqual([true, true]);
    expect(state.written).toEqual(['a', 'b']);
    expect(outbox.queuedBytes).toBe(0);
  });

  it('keeps the order while the sink is full, and writes no more than it takes', () => {
    const { outbox, state, makeRoom } = makeOutbox({ room: 1 });
    for (const letter of 'abcd') outbox.offer(letter);
    expect(state.written).toEqual(['a']);
    makeRoom(2);
    expect(state.written).toEqual(['a', 'b', 'c']);
    outbox.offer('e');
    makeRoom(5);
    expect(state.written).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(state.said).toEqual([]);
  });

  it('keeps the order when the producer goes on before all that waits is written', () => {
    const { outbox, state, makeRoom } = makeOutbox({ room: 1, onResume: () => outbox.offer('e') });
    for (const letter of 'abcd') outbox.offer(item(letter));
    makeRoom(9);
    expect(state.written.map((text) => text.charAt(0))).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('goes on with what is offered while the sink has room and is being written to', () => {
    const written: number[] = [];
    const outbox: Outbox<number> = new Outbox<number>({
      write: (n) => {
        written.push(n);
        if (n < 3) outbox.offer(n + 1);
        return true;
      },
      size: () => 1,
      pauseAboveBytes: 1000,
      refuseAboveBytes: 1000,
      onPause: () => {},
      onResume: () => {},
    });
    outbox.offer(0);
    expect([written, outbox.queuedItems]).toEqual([[0, 1, 2, 3], 0]);
  });

  it('asks for a pause past the first mark, once, and for more at half of it', () => {
    const { outbox, state, makeRoom } = makeOutbox({ room: 1 });
    for (const letter of 'abcd') outbox.offer(item(letter));
    expect([outbox.queuedBytes, outbox.isOpen, state.said]).toEqual([1200, false, ['pause']]);
    outbox.offer(item('e'));
    expect(state.said).toEqual(['pause']);
    makeRoom(2);
    expect([outbox.queuedBytes, outbox.isOpen]).toEqual([800, false]);
    makeRoom(1);
    expect([outbox.queuedBytes, outbox.isOpen, state.said]).toEqual([400, true, ['pause', 'resume']]);
  });

  it('asks for no pause at the first mark, and for more at exactly half of it', () => {
    const { outbox, state, makeRoom } = makeOutbox({ room: 1, pauseAboveBytes: 800 });
    for (const letter of 'abc') outbox.offer(item(letter));
    expect([outbox.queuedBytes, outbox.isOpen, state.said]).toEqual([800, true, []]);
    outbox.offer(item('d'));
    expect([outbox.queuedBytes, state.said]).toEqual([1200, ['pause']]);
    makeRoom(2);
    expect([outbox.queuedBytes, state.said]).toEqual([400, ['pause', 'resume']]);
  });

  it('asks for nothing more once it is closed, though the sink closes it while it is written to', () => {
    const { outbox, state, makeRoom } = makeOutbox({ room: 1, onWrite: (text) => text.startsWith('c') && outbox.close() });
    for (const letter of 'abcd') outbox.offer(item(letter));
    makeRoom(9);
    expect([outbox.queuedBytes, outbox.queuedItems, state.said]).toEqual([0, 0, ['pause']]);
    expect(state.written).toHaveLength(3);
  });

  it('refuses past the second mark', () => {
    const { outbox, state } = makeOutbox({ room: 1 });
    const taken = [...'abcdefgh'].map((letter) => outbox.offer(item(letter)));
    // One is written; 400, 800, 1200, 1600, 2000, 2400 wait.
    expect(taken).toEqual([true, true, true, true, true, true, true, false]);
    expect([outbox.queuedItems, state.written.length]).toEqual([6, 1]);
  });

  it('takes one item of any size while nothing waits', () => {
    const { outbox } = makeOutbox({ room: 1 });
    outbox.offer('a');
    expect(outbox.offer('x'.repeat(1_000_000))).toBe(true);
    expect(outbox.offer('b')).toBe(false);
  });

  it('bounds empty items', () => {
    const { outbox } = makeOutbox({ room: 1 });
    let taken = 0;
    while (outbox.offer('')) taken++;
    expect(taken).toBeLessThan(20);
  });

  it('survives a sink that drains while it writes', () => {
    const written: number[] = [];
    const outbox: Outbox<number> = new Outbox<number>({
      write: (n) => {
        written.push(n);
        outbox.drained();
        return false;
      },
      size: () => 1,
      pauseAboveBytes: 0,
      refuseAboveBytes: 1e9,
      onPause: () => {},
      onResume: () => {},
    });
    for (let n = 0; n < 20_000; n++) outbox.offer(n);
    expect(written).toHaveLength(20_000);
  });

  it('goes on with a producer that offers more while one is written or resumed, in order, without overflow', () => {
    const written: number[] = [];
    let next = 1;
    let hasRoom = false;
    const outbox: Outbox<number> = new Outbox<number>({
      write: (n) => {
        written.push(n);
        if (hasRoom) outbox.drained();
        if (next < 20_000) outbox.offer(next++);
        if (hasRoom) outbox.drained();
        return hasRoom;
      },
      size: () => 1,
      pauseAboveBytes: 0,
      refuseAboveBytes: 1e9,
      onPause: () => {},
      onResume: () => next < 20_000 && outbox.offer(next++),
    });
    outbox.offer(0);
    hasRoom = true;
    outbox.drained();
    expect(written).toEqual(Array.from({ length: 20_000 }, (_, n) => n));
  });

  it('tells when nothing waits', async () => {
    const { outbox, state, makeRoom } = makeOutbox({ room: 1 });
    await outbox.whenEmpty();
    for (const letter of 'abc') outbox.offer(letter);
    let isEmpty = false;
    const empty = outbox.whenEmpty().then(() => {
      isEmpty = true;
    });
    await Promise.resolve();
    expect(isEmpty).toBe(false);
    makeRoom(1);
    await Promise.resolve();
    expect([isEmpty, state.written]).toEqual([false, ['a', 'b']]);
    makeRoom(5);
    await empty;
    expect(state.written).toEqual(['a', 'b', 'c']);
  });

  it('forgets what waits when it is closed', async () => {
    const { outbox, state, makeRoom } = makeOutbox({ room: 1 });
    outbox.offer('a');
    outbox.offer('b');
    const empty = outbox.whenEmpty();
    outbox.close();
    await empty;
    makeRoom(5);
    expect([outbox.offer('c'), outbox.isOpen, outbox.queuedBytes]).toEqual([false, false, 0]);
    expect(state.written).toEqual(['a']);
  });
});
