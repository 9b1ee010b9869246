import { Outbox } from '../../streams/flow/outbox.ts';
import { Answer } from './render-response.ts';
import type { StreamMarks } from './stream-marks.ts';
import type { StreamMessage, StreamRequest } from './stream-request.ts';
import type { Call } from './transport/call.ts';
import type { CallStatus } from './transport/call-status.ts';

interface OutletConfig {
  readonly call: Call;
  readonly marks: StreamMarks;
  /** Called when there is room again after there was none. */
  readonly onRoom: () => void;
  /** Called when the client has caught up after it was behind. */
  readonly onRead: () => void;
  /** There was no room for a message, not even for an error: the client would wait for it in vain. */
  readonly onRefused: () => void;
  /** A request's message, which waited for its turn, has gone. */
  readonly onSent: (request: StreamRequest) => void;
}

/** So many bytes of error messages fit behind the last answer: one for each request in flight, and some. */
const errorBytes = 2 ** 20;

const bytesOf = (message: StreamMessage): number => message.byteLength;

/**
 * The way out of one stream. Messages go to the transport while it has room and wait in an outbox otherwise; those that must go in turn wait in
 * line until all before them have gone.
 */
export class StreamOutlet {
  readonly #config: OutletConfig;
  readonly #outbox: Outbox<StreamMessage>;
  /** No longer than the requests that may be in flight. */
  readonly #line: StreamRequest[] = [];
  #lineBytes = 0;
  #transportBytes = 0;

  constructor(config: OutletConfig) {
    this.#config = config;
    this.#outbox = new Outbox<StreamMessage>({
      write: (message) => this.#write(message),
      size: bytesOf,
      pauseAboveBytes: config.marks.pauseAboveBytes,
      refuseAboveBytes: config.marks.refuseAboveBytes + errorBytes,
      onPause: () => {},
      onResume: config.onRoom,
    });
  }

  /** Whether the client is behind: the transport is full, or an answer waits for it. */
  get isUnread(): boolean {
    return this.#outbox.queuedItems > 0 || this.#transportBytes >= this.#config.marks.transportBytes;
  }

  /** Bytes of answers that wait, for the client or for their turn. */
  get queuedBytes(): number {
    return this.#outbox.queuedBytes + this.#lineBytes;
  }

  /** Whether the client keeps up: requests may be read. */
  get isOpen(): boolean {
    return this.#outbox.isOpen;
  }

  /** Whether there is room for an answer. */
  get takesAnswers(): boolean {
    return this.queuedBytes <= this.#config.marks.refuseAboveBytes;
  }

  /** The request's message goes after those of the requests that lined up before. */
  lineUp(request: StreamRequest): void {
    request.isInLine = true;
    this.#line.push(request);
  }

  /** Sends a message now, or in its turn when the request stands in line. Its bytes are taken before this returns. */
  send(request: StreamRequest, message: StreamMessage): void {
    if (!request.isInTurn) {
      this.#offer(message);
      return;
    }
    if (!request.isInLine) this.lineUp(request);
    request.waiting = message;
    if (this.#line[0] !== request) {
      if (message instanceof Answer) message.keep();
      this.#lineBytes += message.byteLength;
      return;
    }
    this.#shift(request, message);
    let next = this.#line[0];
    while (next?.waiting !== undefined) {
      this.#lineBytes -= next.waiting.byteLength;
      this.#shift(next, next.waiting);
      next = this.#line[0];
    }
  }

  /** Ends the call after the messages that are on their way; those in line are forgotten. */
  end(status: CallStatus): void {
    this.#clearLine();
    void this.#outbox.whenEmpty().then(() => this.#config.call.sendStatus(status));
  }

  /** The call is over: forgets what waits. */
  close(): void {
    this.#clearLine();
    this.#outbox.close();
  }

  #clearLine(): void {
    this.#line.length = 0;
    this.#lineBytes = 0;
  }

  #shift(request: StreamRequest, message: StreamMessage): void {
    this.#line.shift();
    request.waiting = undefined;
    this.#offer(message);
    this.#config.onSent(request);
  }

  #offer(message: StreamMessage): void {
    if (!this.#outbox.offer(message)) this.#config.onRefused();
    // Where it was not written at once it outlives the model's memory.
    if (message instanceof Answer) message.keep();
  }

  #write(message: StreamMessage): boolean {
    const { byteLength } = message;
    const { transportBytes } = this.#config.marks;
    this.#transportBytes += byteLength;
    this.#config.call.sendMessage(message, () => {
      const wasFull = this.#transportBytes >= transportBytes;
      this.#transportBytes -= byteLength;
      if (!wasFull || this.#transportBytes >= transportBytes) return;
      this.#outbox.drained();
      if (!this.isUnread) this.#config.onRead();
    });
    return this.#transportBytes < transportBytes;
  }
}
