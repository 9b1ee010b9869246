import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Unsubscribable } from 'rxjs';
import { machineScheduler } from '../../../streams/flow/clock.ts';
import type { Place, WaitingList } from '../../../streams/flow/waiting-list.ts';
import { InferError, toInferError } from '../../../streams/inference/error.ts';
import { BufferPool } from '../../../streams/tensors/buffer-pool.ts';
import type { Call, CallListener, Serve } from './call.ts';
import { type CallStatus, okStatus, statusCodes, toStatus } from './call-status.ts';
import { decompress, type MessageLimits } from './decompress.ts';
import { answerHeaders, trailers } from './headers.ts';
import { type FramedMessage, MessageReader, prefixBytes } from './message-reader.ts';
import { Metadata } from './metadata.ts';
import type { Outgoing } from './outgoing.ts';
import { readTimeout } from './read-timeout.ts';

/** A call as it comes out of a connection. */
export interface IncomingCall {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly peer: string;
  readonly limits: MessageLimits;
  /** Those of its connection that are not over: it takes its place among them. */
  readonly calls: WaitingList<ServedCall>;
}

const withTrailers = { waitForTrailers: true };
const withoutBody = { endStream: true };

/** Memory for the frames of large answers, that of all calls. */
const frames = new BufferPool(32 * 2 ** 20);

/** Fills the beginning of `memory`, which is as long as the frame or longer. */
const writeFrame = (message: Outgoing, memory: Buffer): Buffer => {
  const { byteLength } = message;
  memory[0] = 0;
  memory.writeUInt32BE(byteLength, 1);
  message.copy(memory, prefixBytes);
  return memory.length === prefixBytes + byteLength ? memory : memory.subarray(0, prefixBytes + byteLength);
};

/** One call over one HTTP/2 stream: data to messages, messages to data, its deadline and its end. */
export class ServedCall implements Call {
  readonly peer: string;
  readonly #stream: ServerHttp2Stream;
  readonly #listener: CallListener;
  readonly #encoding: string;
  readonly #limits: MessageLimits;
  readonly #reader: MessageReader;
  readonly #calls: WaitingList<ServedCall>;
  readonly #place: Place<ServedCall>;
  #deadline: Unsubscribable | undefined;
  #status: CallStatus | undefined;
  /** What of the budget the last message holds. */
  #heldBytes = 0;
  #isAsked = false;
  #isReading = false;
  #isDecompressing = false;
  #hasEnded = false;
  #isOver = false;

  /** Begins at once. */
  constructor({ stream, headers, rawHeaders, peer, limits, calls }: IncomingCall, serve: Serve) {
    this.peer = peer;
    this.#stream = stream;
    this.#encoding = String(headers['grpc-encoding'] ?? 'identity');
    this.#limits = limits;
    this.#reader = new MessageReader(limits.limitBytes, limits.budget);
    this.#calls = calls;
    this.#place = calls.push(this);
    this.#listener = serve(this);
    this.#listen();
    this.#listener.onReceiveMetadata(new Metadata(rawHeaders));
    const timeout = headers['grpc-timeout'];
    if (timeout !== undefined) this.#setDeadline(String(timeout));
  }

  startRead(): void {
    this.#isAsked = true;
    this.#read();
  }

  sendMessage(message: Outgoing, onSent?: () => void): void {
    if (this.#isClosed) return;
    const memory = frames.take(prefixBytes + message.byteLength);
    const frame = writeFrame(message, memory);
    if (!this.#stream.headersSent) this.#stream.respond(answerHeaders, withTrailers);
    this.#stream.write(frame, (error) => {
      if (error) return;
      frames.give(memory);
      if (!this.#isOver) onSent?.();
    });
  }

  sendStatus(status: CallStatus): void {
    if (this.#isClosed) return;
    this.#status = status;
    this.#drain();
    if (this.#stream.headersSent) {
      this.#stream.end();
      return;
    }
    this.#stream.respond({ ...answerHeaders, ...trailers(status) }, withoutBody);
    process.nextTick(() => {
      this.#letGo();
      this.#finish();
    });
  }

  /** Its connection has gone. */
  cut(): void {
    this.#finish();
  }

  /** Nothing can be sent: the call is over, or ends after what was sent. */
  get #isClosed(): boolean {
    return this.#isOver || this.#status !== undefined || this.#stream.destroyed || this.#stream.closed;
  }

  #listen(): void {
    const stream = this.#stream;
    // Not `data` with `pause`: Node may then forget to give the window back when it is resumed.
    stream.on('readable', () => (this.#isClosed ? this.#drain() : this.#read()));
    stream.on('end', () => {
      this.#hasEnded = true;
      // Of one that was reset after its status, before all was let through, Node says nothing else.
      if (stream.closed) stream.destroy();
      else this.#read();
    });
    stream.on('wantTrailers', () => {
      stream.sendTrailers(trailers(this.#status ?? okStatus));
      // Node sends them in a turn of its own.
      if (!this.#hasEnded) setImmediate(() => this.#letGo());
      this.#finish();
    });
    // `close` follows, and says the same.
    stream.on('error', () => {});
    // Of a stream that was reset before all of it was read, Node says this and never `close`. Of one that is reset from here it says it before the client
    // is told, which one that is destroyed would not do any more.
    stream.on('aborted', () => {
      process.nextTick(() => stream.destroy());
      this.#finish();
    });
    stream.on('close', () => this.#finish());
  }

  /** What the client still sends is let through, or it would keep the connection's window. */
  #drain(): void {
    while (this.#stream.read() !== null);
  }

  /** A client that has not half-closed by the end of the call may never do it, and its connection could not be closed. */
  #letGo(): void {
    if (!this.#hasEnded) this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  /** Hands over what is asked for, in a loop: the listener asks again inside of its methods. */
  #read(): void {
    if (this.#isReading || this.#isDecompressing) return;
    this.#isReading = true;
    while (this.#isAsked && !this.#isClosed && this.#readOne());
    this.#isReading = false;
  }

  /** Whether there was something to hand over, or to read. */
  #readOne(): boolean {
    try {
      const message = this.#reader.next();
      if (message !== undefined) return this.#receive(message);
    } catch (error) {
      this.#fail(error);
      return false;
    }
    const chunk: Buffer | null = this.#stream.read();
    if (chunk !== null) this.#reader.push(chunk);
    else if (this.#hasEnded) this.#receiveEnd();
    return chunk !== null;
  }

  #receiveEnd(): void {
    this.#isAsked = false;
    if (this.#reader.isWithinMessage) this.#fail(new InferError('INTERNAL', 'the call ended within a message'));
    else this.#listener.onReceiveHalfClose();
  }

  /** Whether it could be handed over at once. */
  #receive({ isCompressed, bytes, heldBytes }: FramedMessage): boolean {
    this.#hold(heldBytes);
    if (isCompressed) {
      void this.#decompress(bytes);
      return false;
    }
    this.#isAsked = false;
    this.#listener.onReceiveMessage(bytes);
    return true;
  }

  async #decompress(bytes: Buffer): Promise<void> {
    this.#isDecompressing = true;
    try {
      const message = await decompress(bytes, { ...this.#limits, encoding: this.#encoding, isWanted: () => !this.#isClosed });
      this.#isDecompressing = false;
      if (this.#isClosed) {
        this.#limits.budget.give(message.length);
        return;
      }
      this.#receive({ isCompressed: false, bytes: message, heldBytes: message.length });
      this.#read();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** In place of what the message before held. */
  #hold(bytes: number): void {
    this.#limits.budget.give(this.#heldBytes);
    this.#heldBytes = bytes;
  }

  #setDeadline(text: string): void {
    const timeoutMs = readTimeout(text);
    if (timeoutMs === undefined) this.#fail(new InferError('INTERNAL', `Invalid grpc-timeout value "${text}"`));
    else if (!this.#isOver) this.#deadline = machineScheduler.schedule(() => this.#onDeadline(), timeoutMs);
  }

  #fail(error: unknown): void {
    this.sendStatus(toStatus(toInferError(error)));
  }

  /** What the client has not let through by now it will not read: then the stream is cut, and the client, whose deadline it is, knows why. */
  #onDeadline(): void {
    if (this.#status === undefined && this.#stream.writableLength === 0) {
      this.sendStatus({ code: statusCodes.DEADLINE_EXCEEDED, details: 'Deadline Exceeded' });
    } else {
      this.#stream.close(constants.NGHTTP2_CANCEL);
    }
    this.#finish();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadline?.unsubscribe();
    this.#reader.close();
    this.#hold(0);
    this.#calls.remove(this.#place);
    this.#listener.onCancel();
  }
}
