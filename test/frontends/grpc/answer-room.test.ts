import { describe, expect, it } from 'vitest';
import { AnswerRoom, type Ticket } from '../../../src/frontends/grpc/answer-room.ts';
import { AnswerTemplate } from '../../../src/frontends/grpc/answer-template.ts';

const room = (): AnswerRoom => new AnswerRoom({ pauseAboveBytes: 1000, expectAboveBytes: 5500, waitingCalls: 2, waitingBytes: 500 });

class Calls {
  readonly room = room();
  readonly admitted: string[] = [];

  enter(name: string, expectedBytes: number, { peer = 'p', requestBytes = 10 } = {}): Ticket {
    const answers = { template: new AnswerTemplate('m', '1'), expectedBytes, isLearned: true };
    return this.room.enter(peer, { answers, requestBytes, onRoom: () => this.admitted.push(name) });
  }
}

describe('AnswerRoom', () => {
  it('lets calls in while their answers fit, one in any case, and the others in turn', () => {
    const calls = new Calls();
    const first = calls.enter('a', 5000);
    const second = calls.enter('b', 600);
    calls.enter('c', 10, { requestBytes: 7 });
    expect(calls.admitted).toEqual(['a']);
    expect(calls.room.counters()).toEqual({ waitingCalls: 2, waitingCallBytes: 17 });
    calls.room.leave(first);
    expect(calls.admitted).toEqual(['a', 'b', 'c']);
    expect(calls.room.counters()).toEqual({ waitingCalls: 0, waitingCallBytes: 0 });
    calls.room.leave(second);
  });

  it('counts what an answer really takes', () => {
    const calls = new Calls();
    const first = calls.enter('a', 10);
    first.answered(950);
    const second = calls.enter('b', 100);
    expect(calls.admitted).toEqual(['a']);
    calls.room.leave(first);
    expect([calls.admitted, second.bytes, first.bytes]).toEqual([['a', 'b'], 100, 0]);
  });

  it('asks for less ahead while an answer is unread', () => {
    const calls = new Calls();
    const first = calls.enter('a', 900);
    const others = ['b', 'c', 'd'].map((name) => calls.enter(name, 900));
    expect(calls.admitted).toEqual(['a', 'b', 'c', 'd']);
    first.answered(1);
    calls.enter('e', 900);
    expect(calls.room.counters().waitingCalls).toBe(1);
    calls.room.leave(first);
    expect(calls.admitted).toEqual(['a', 'b', 'c', 'd', 'e']);
    for (const other of others) other.answered(1);
    calls.enter('f', 97);
    expect(calls.admitted).toHaveLength(6);
  });

  it('forgets a call that leaves while it waits', () => {
    const calls = new Calls();
    const first = calls.enter('a', 5000);
    const second = calls.enter('b', 1000);
    calls.enter('c', 1000);
    calls.room.leave(second);
    expect(calls.room.counters()).toEqual({ waitingCalls: 1, waitingCallBytes: 10 });
    calls.room.leave(first);
    expect(calls.admitted).toEqual(['a', 'c']);
  });

  it('keeps connections apart', () => {
    const calls = new Calls();
    calls.enter('a', 5000);
    calls.enter('b', 1000);
    calls.enter('c', 1000, { peer: 'q' });
    expect(calls.admitted).toEqual(['a', 'c']);
  });

  it('lets one wait, however large it is', () => {
    const calls = new Calls();
    const first = calls.enter('a', 5000);
    calls.enter('b', 1000, { requestBytes: 1_000_000 });
    expect(() => calls.enter('c', 1000, { requestBytes: 1 })).toThrow('too many calls wait on this connection');
    calls.room.leave(first);
    expect(calls.admitted).toEqual(['a', 'b']);
  });

  it('refuses when too many wait, or too much', () => {
    const calls = new Calls();
    const first = calls.enter('a', 5000);
    calls.enter('b', 1000, { requestBytes: 490 });
    expect(() => calls.enter('c', 1000, { requestBytes: 11 })).toThrow('too many calls wait on this connection');
    calls.enter('d', 1000, { requestBytes: 10 });
    expect(() => calls.enter('e', 1000, { requestBytes: 0 })).toThrow('too many calls wait on this connection');
    calls.room.leave(first);
    expect(calls.admitted).toEqual(['a', 'b', 'd']);
  });
});
