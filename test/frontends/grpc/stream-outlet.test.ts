import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { StreamOutlet } from '../../../src/frontends/grpc/stream-outlet.ts';
import { StreamRequest } from '../../../src/frontends/grpc/stream-request.ts';
import type { Call } from '../../../src/frontends/grpc/transport/call.ts';
import { type CallStatus, okStatus } from '../../../src/frontends/grpc/transport/call-status.ts';
import type { Outgoing } from '../../../src/frontends/grpc/transport/outgoing.ts';

/** A client that takes a message when the test says so. */
class SlowCall implements Call {
  readonly peer = '';
  readonly taken: string[] = [];
  readonly #sent: (() => void)[] = [];
  status: CallStatus | undefined;

  startRead(): void {}
  sendMessage(message: Outgoing, onSent: () => void): void {
    const bytes = Buffer.alloc(message.byteLength);
    message.copy(bytes, 0);
    this.taken.push(bytes.toString('latin1', 0, 1));
    this.#sent.push(onSent);
  }
  sendStatus(end: CallStatus): void {
    this.status = end;
  }
  take(): void {
    this.#sent.shift()?.();
  }
}

const noOwner = { onMessage: () => {}, onAnswerError: () => {}, onFailure: () => {}, onEnd: () => {}, takesMore: true };
const request = (id: string): StreamRequest => new StreamRequest(noOwner, { id, modelName: 'm', modelVersion: '' }, 0);
const message = (letter: string, size = 100): Buffer => Buffer.alloc(size, letter);

const open = () => {
  const call = new SlowCall();
  const told: string[] = [];
  /** Messages taken when the client had caught up. */
  const reads: number[] = [];
  const outlet = new StreamOutlet({
    call,
    marks: { requests: 8, requestBytes: 1000, pauseAboveBytes: 1000, expectAboveBytes: 1000, refuseAboveBytes: 2000, transportBytes: 150 },
    onRoom: () => told.push('room'),
    onRead: () => reads.push(call.taken.length),
    onRefused: () => told.push('refused'),
    onSent: ({ asked }) => told.push(`sent ${asked.id}`),
  });
  return { call, told, reads, outlet };
};

describe('StreamOutlet', () => {
  it('hands over what fits a packet, and more as it goes', () => {
    const { call, outlet } = open();
    for (const letter of 'abcd') outlet.send(request(letter), message(letter));
    expect(call.taken).toEqual(['a', 'b']);
    call.take();
    expect(call.taken).toEqual(['a', 'b', 'c']);
    call.take();
    call.take();
    expect(call.taken).toEqual(['a', 'b', 'c', 'd']);
    expect(outlet.queuedBytes).toBe(0);
  });

  it('tells when the client has caught up after it was behind', () => {
    const { call, reads, outlet } = open();
    outlet.send(request('a'), message('a'));
    call.take();
    expect([outlet.isUnread, reads]).toEqual([false, []]);
    for (const letter of 'bcd') outlet.send(request(letter), message(letter));
    expect(outlet.isUnread).toBe(true);
    call.take();
    expect([outlet.isUnread, reads]).toEqual([true, []]);
    call.take();
    expect([outlet.isUnread, reads]).toEqual([false, [4]]);
  });

  it('keeps the line, and counts what waits in it', () => {
    const { call, told, outlet } = open();
    const [first, second, third] = [request('a'), request('b'), request('c')];
    for (const each of [first, second, third]) outlet.lineUp(each);
    outlet.send(third, message('c'));
    outlet.send(second, message('b', 60));
    expect([call.taken, told, outlet.queuedBytes]).toEqual([[], [], 160]);
    outlet.send(first, message('a'));
    expect(call.taken).toEqual(['a', 'b']);
    expect(told).toEqual(['sent a', 'sent b', 'sent c']);
    call.take();
    expect(call.taken).toEqual(['a', 'b', 'c']);
  });

  it('is closed above the first mark, until half of it has gone', () => {
    const { call, told, outlet } = open();
    for (let index = 0; index < 4; index++) outlet.send(request(''), message('x', 500));
    expect([outlet.isOpen, outlet.takesAnswers]).toEqual([false, true]);
    call.take();
    expect(outlet.isOpen).toBe(false);
    call.take();
    expect(outlet.isOpen).toBe(true);
    expect(told).toContain('room');
  });

  it('has no room for answers above the second mark, some for errors, and says when there is none at all', () => {
    const { told, outlet } = open();
    outlet.send(request(''), message('x', 150));
    outlet.send(request(''), message('x', 2001));
    expect(outlet.takesAnswers).toBe(false);
    outlet.send(request(''), message('e', 2 ** 20));
    expect(told).not.toContain('refused');
    outlet.send(request(''), message('e'));
    expect(told).toContain('refused');
  });

  it('ends the call after what was sent, without those in line', async () => {
    const { call, outlet } = open();
    const [first, second] = [request('a'), request('b')];
    outlet.lineUp(first);
    outlet.lineUp(second);
    outlet.send(second, message('b'));
    outlet.end(okStatus);
    await Promise.resolve();
    expect(call.taken).toEqual([]);
    expect(call.status?.code).toBe(status.OK);
  });

  it('waits with the end until the outbox is empty, and forgets it when the call is over', async () => {
    const { call, outlet } = open();
    for (const letter of 'abc') outlet.send(request(letter), message(letter));
    outlet.end(okStatus);
    await Promise.resolve();
    expect(call.status).toBeUndefined();
    outlet.close();
    expect(outlet.queuedBytes).toBe(0);
  });
});
