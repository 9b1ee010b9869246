import { type Place, WaitingList } from '../../streams/flow/waiting-list.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { ServedAnswers } from './served-answers.ts';

export interface AnswerRoomConfig {
  /** Bytes of answers on one connection, expected ones included, above which its next calls wait while one is unread. One call may always go. */
  readonly pauseAboveBytes: number;
  /** The same while none is unread: no fault of the client's then, and a call that the others wait for may be among those that would wait here. */
  readonly expectAboveBytes: number;
  /** Calls of one connection that may wait, and the bytes of their requests; one more gets RESOURCE_EXHAUSTED. One may always wait, however large. */
  readonly waitingCalls: number;
  readonly waitingBytes: number;
}

export const answerRoomConfig: AnswerRoomConfig = {
  pauseAboveBytes: 16 * 2 ** 20,
  expectAboveBytes: 256 * 2 ** 20,
  waitingCalls: 4096,
  waitingBytes: 256 * 2 ** 20,
};

/** Calls that wait for room, and the bytes of their requests. */
export interface RoomCounters {
  readonly waitingCalls: number;
  readonly waitingCallBytes: number;
}

/** A call that is about to ask a model. */
export interface RoomEntry {
  readonly answers: ServedAnswers;
  readonly requestBytes: number;
  /** Called once there is room, at once where there is. */
  onRoom(ticket: Ticket): void;
}

/** The calls of one connection. */
interface Connection {
  readonly key: string;
  readonly waiting: WaitingList<Ticket>;
  waitingBytes: number;
  /** Bytes of answers that are expected, or unread. */
  answerBytes: number;
  /** Answers that the client has not read. */
  unread: number;
}

/** One call's place among those of its connection. */
export class Ticket {
  readonly connection: Connection;
  readonly entry: RoomEntry;
  place: Place<Ticket> | undefined;
  /** Bytes that its answer takes, or is expected to take; 0 while it waits and after it has left. */
  bytes = 0;
  #isUnread = false;

  constructor(connection: Connection, entry: RoomEntry) {
    this.connection = connection;
    this.entry = entry;
  }

  /** It may go on, and its answer will be about so large. */
  expect(bytes: number): void {
    // At least one byte, so that a connection with calls in it is never taken for an empty one.
    this.#setBytes(Math.max(1, bytes));
  }

  /** The answer is there, and is so large. */
  answered(bytes: number): void {
    this.#setBytes(bytes);
    if (this.#isUnread) return;
    this.#isUnread = true;
    this.connection.unread++;
  }

  left(): void {
    this.#setBytes(0);
    if (this.#isUnread) this.connection.unread--;
    this.#isUnread = false;
  }

  #setBytes(bytes: number): void {
    this.connection.answerBytes += bytes - this.bytes;
    this.bytes = bytes;
  }
}

/**
 * Holds the unary calls of a connection back while its answers are not read: a client that calls on and on and reads nothing would otherwise fill
 * the memory. While all answers are read, calls go on to the model's queue, where priorities, time-outs and sequences are heeded.
 */
export class AnswerRoom {
  readonly #config: AnswerRoomConfig;
  readonly #connections = new Map<string, Connection>();

  constructor(config: AnswerRoomConfig) {
    this.#config = config;
  }

  counters(): RoomCounters {
    let waitingCalls = 0;
    let waitingCallBytes = 0;
    for (const { waiting, waitingBytes } of this.#connections.values()) {
      waitingCalls += waiting.length;
      waitingCallBytes += waitingBytes;
    }
    return { waitingCalls, waitingCallBytes };
  }

  /** Whoever enters leaves when its call is over. @throws InferError RESOURCE_EXHAUSTED when too many wait already */
  enter(key: string, entry: RoomEntry): Ticket {
    const connection = this.#connections.get(key) ?? this.#open(key);
    const ticket = new Ticket(connection, entry);
    if (connection.waiting.length === 0 && this.#hasRoom(connection, entry)) this.#admit(ticket);
    else this.#park(ticket);
    return ticket;
  }

  leave(ticket: Ticket): void {
    const { connection, place, entry } = ticket;
    if (place !== undefined && connection.waiting.remove(place)) connection.waitingBytes -= entry.requestBytes;
    ticket.left();
    this.#admitNext(connection);
    if (connection.answerBytes === 0 && connection.waiting.length === 0) this.#connections.delete(connection.key);
  }

  #open(key: string): Connection {
    const connection: Connection = { key, waiting: new WaitingList(), waitingBytes: 0, answerBytes: 0, unread: 0 };
    this.#connections.set(key, connection);
    return connection;
  }

  #hasRoom({ answerBytes, unread }: Connection, { answers }: RoomEntry): boolean {
    if (answerBytes === 0) return true;
    const { pauseAboveBytes, expectAboveBytes } = this.#config;
    return answerBytes + answers.expectedBytes <= (unread > 0 ? pauseAboveBytes : expectAboveBytes);
  }

  #admit(ticket: Ticket): void {
    ticket.expect(ticket.entry.answers.expectedBytes);
    ticket.entry.onRoom(ticket);
  }

  #park(ticket: Ticket): void {
    const { connection, entry } = ticket;
    const { waiting } = connection;
    const { waitingCalls, waitingBytes } = this.#config;
    const isFull = waiting.length >= waitingCalls || connection.waitingBytes + entry.requestBytes > waitingBytes;
    if (isFull && waiting.length > 0) {
      throw new InferError('RESOURCE_EXHAUSTED', 'too many calls wait on this connection: the client reads their answers too slowly');
    }
    ticket.place = waiting.push(ticket);
    connection.waitingBytes += entry.requestBytes;
  }

  #admitNext(connection: Connection): void {
    const { waiting } = connection;
    for (let ticket = waiting.first; ticket !== undefined; ticket = waiting.first) {
      if (!this.#hasRoom(connection, ticket.entry)) return;
      waiting.shift();
      connection.waitingBytes -= ticket.entry.requestBytes;
      this.#admit(ticket);
    }
  }
}
