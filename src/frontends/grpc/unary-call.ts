import type { Unsubscribable } from 'rxjs';
import type { Place } from '../../streams/flow/waiting-list.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import { shuttingDown, toClientError } from './client-error.ts';
import type { OpenCall, OpenCalls } from './open-calls.ts';
import type { Call, CallListener, Serve } from './transport/call.ts';
import { okStatus, toStatus } from './transport/call-status.ts';
import type { Metadata } from './transport/metadata.ts';
import type { Outgoing } from './transport/outgoing.ts';

/** The one answer that a unary call takes; what comes after it is dropped. */
export interface UnaryReply {
  /** The message's bytes are taken before this returns. */
  answer(message: Outgoing): void;
  fail(error: unknown): void;
  /** Who asks: the same for all calls of a connection. */
  readonly peer: string;
}

/** What a call has set in motion: unsubscribed when the call is over. */
export interface UnaryWork extends Unsubscribable {
  /** Bytes of an answer that waits for the client. */
  readonly outboxBytes?: number;
}

/** Answers one question, then or later. What it returns is unsubscribed when the call is over; what it throws fails the call. */
export type UnaryMethod = (message: Buffer, metadata: Metadata, reply: UnaryReply) => UnaryWork | undefined;

interface UnaryConfig {
  readonly method: UnaryMethod;
  readonly calls: OpenCalls;
  readonly log: Log;
}

class UnaryCall implements CallListener, OpenCall, UnaryReply {
  place: Place<OpenCall> | undefined;
  readonly #call: Call;
  readonly #config: UnaryConfig;
  #metadata: Metadata | undefined;
  #message: Buffer | undefined;
  #work: UnaryWork | undefined;
  #isAnswered = false;
  #isOver = false;

  constructor(call: Call, config: UnaryConfig) {
    this.#call = call;
    this.#config = config;
  }

  onReceiveMetadata(metadata: Metadata): void {
    const { calls } = this.#config;
    if (calls.isShuttingDown) {
      this.#isAnswered = true;
      this.#call.sendStatus(toStatus(shuttingDown()));
      return;
    }
    this.#metadata = metadata;
    calls.add(this);
    this.#call.startRead();
  }

  onReceiveMessage(message: Buffer): void {
    if (this.#message !== undefined) {
      this.fail(new InferError('UNIMPLEMENTED', 'a second message in a call that takes one'));
      return;
    }
    this.#message = message;
    this.#call.startRead();
  }

  onReceiveHalfClose(): void {
    if (this.#isAnswered) return;
    const message = this.#message;
    if (message === undefined || this.#metadata === undefined) {
      this.fail(new InferError('UNIMPLEMENTED', 'no message in a call that takes one'));
      return;
    }
    this.#message = undefined;
    try {
      this.#work = this.#config.method(message, this.#metadata, this);
    } catch (error) {
      this.fail(error);
    }
    if (this.#isOver) this.#work?.unsubscribe();
  }

  onCancel(): void {
    this.#isOver = true;
    this.#isAnswered = true;
    this.#work?.unsubscribe();
    this.#work = undefined;
    this.#config.calls.delete(this);
  }

  answer(message: Outgoing): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#call.sendMessage(message);
    this.#call.sendStatus(okStatus);
  }

  fail(error: unknown): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#call.sendStatus(toStatus(toClientError(error, this.#config.log)));
  }

  get requestsInFlight(): number {
    return this.#isAnswered ? 0 : 1;
  }

  get outboxBytes(): number {
    return this.#isAnswered ? (this.#work?.outboxBytes ?? 0) : 0;
  }

  get peer(): string {
    return this.#call.peer;
  }

  /** It ends by itself. */
  shutDown(): void {}
}

export const serveUnary =
  (config: UnaryConfig): Serve =>
  (call) =>
    new UnaryCall(call, config);
