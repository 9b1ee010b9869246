import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { WaitingList } from '../../streams/flow/waiting-list.ts';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { InferError, requestPrefix, toInferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import { madeBuffer } from '../../streams/tensors/young-buffers.ts';
import type { CallOwner } from './call.ts';
import { Call } from './call.ts';
import { closeCodeOf } from './counters.ts';
import type { Frames, Parts } from './frames.ts';
import { Liveness } from './liveness.ts';
import { MessageError } from './message-error.ts';
import type { InferMessage } from './parse-message.ts';
import { parseMessage } from './parse-message.ts';
import { readMessage } from './read-message.ts';
import { renderError } from './render-message.ts';
import { Sender } from './sender.ts';
import type { StreamTarget } from './stream-target.ts';

export interface ConnectionConfig {
  readonly webSocket: WebSocket;
  /** The socket under it. */
  readonly socket: Duplex;
  readonly frames: Frames;
  readonly target: StreamTarget;
  readonly dataPlane: DataPlane;
  readonly maxInflight: number;
  readonly maxMessageBytes: number;
  /** Marks of the outbox: above the first the socket is not read, above the second answers are refused. */
  readonly pauseAboveBytes: number;
  readonly refuseAboveBytes: number;
  readonly log: Log;
  /** Called once. */
  readonly onClosed: (connection: Connection, code: number) => void;
}

interface ReadAhead {
  readonly data: RawData;
  readonly isBinary: boolean;
}

/**
 * One client. Its queues:
 *
 * calls       requests without a final answer, at most `maxInflight`; at the bound the socket is not read
 * read ahead  messages that came in one read with the one that reached that bound; so bounded by the size of a read
 * outbox      answers that wait for a slow reader. Above its first mark the socket is not read and models that can wait do, above the second an
 *             answer ends its request with RESOURCE_EXHAUSTED. Such final messages are small, at most one for each call, and always taken.
 */
export class Connection implements CallOwner {
  readonly frames: Frames;
  readonly #config: ConnectionConfig;
  readonly #webSocket: WebSocket;
  readonly #calls = new WaitingList<Call>();
  readonly #callsById = new Map<string, Call>();
  readonly #readAhead = new WaitingList<ReadAhead>();
  readonly #sender: Sender;
  readonly #liveness: Liveness;
  #isProceeding = false;
  #isDraining = false;
  #isClosing = false;
  /** Undefined while the peer's own code counts. */
  #closeCode: number | undefined;

  constructor(config: ConnectionConfig) {
    this.#config = config;
    this.frames = config.frames;
    this.#webSocket = config.webSocket;
    this.#liveness = new Liveness(config.webSocket, config.socket);
    this.#sender = new Sender({
      webSocket: config.webSocket,
      socket: config.socket,
      isBinary: config.frames.isBinary,
      pauseAboveBytes: config.pauseAboveBytes,
      refuseAboveBytes: config.refuseAboveBytes,
      onPause: () => this.#pause(),
      onResume: () => {
        this.#wakeModels();
        this.#proceed();
      },
      onSent: () => this.#liveness.showLife(),
    });
    this.#webSocket.on('message', this.#onMessage);
    this.#webSocket.on('error', (error) => {
      this.#closeCode ??= closeCodeOf(error);
      this.#abandon();
    });
    this.#webSocket.on('close', (code) => {
      this.#abandon();
      this.#sender.close();
      config.onClosed(this, this.#closeCode ?? code);
    });
  }

  get requestsInFlight(): number {
    return this.#calls.length;
  }

  get outboxBytes(): number {
    return this.#sender.queuedBytes;
  }

  get takesMore(): boolean {
    return this.#sender.isOpen;
  }

  /** False, and the frame is not taken, when too much waits for this reader. */
  offer(frame: Buffer): boolean {
    return this.#sender.offer(frame);
  }

  offerFinal(frame: Buffer): void {
    this.#sender.offerAlways(frame);
  }

  /** A call has had its final answer. */
  ended(call: Call): void {
    if (call.place !== undefined) this.#calls.remove(call.place);
    if (call.id !== '') this.#callsById.delete(call.id);
    this.#proceed();
  }

  failed(call: Call, error: InferError): void {
    this.#logFailure(call.id, error);
  }

  /** Asks whether the client lives. Called in even intervals. */
  tick(): void {
    const mayBeSilent = this.#isFull() && this.#sender.isOpen;
    if (!this.#liveness.tick({ mayBeSilent })) this.#webSocket.terminate();
  }

  /** Answers what is in flight and takes nothing new, then closes with 1001. */
  drain(): void {
    this.#isDraining = true;
    void this.#closeWhenDone();
  }

  /** Closes with `code`, cancelling what is in flight. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#closeCode = code;
    this.#abandon();
    this.#webSocket.close(code, reason);
    // The peer's close frame has to be read.
    this.#webSocket.resume();
  }

  /** As `close`, without waiting for the peer. */
  cut(code: number, reason: string): void {
    this.close(code, reason);
    setImmediate(() => this.#webSocket.terminate());
  }

  /** Cancels what is in flight and ignores what still comes. */
  #abandon(): void {
    this.#isClosing = true;
    this.#readAhead.clear();
    const calls = [...this.#calls];
    this.#calls.clear();
    this.#callsById.clear();
    for (const call of calls) call.cancel();
  }

  async #closeWhenDone(): Promise<void> {
    if (this.#isClosing || this.#calls.length > 0 || this.#readAhead.length > 0) return;
    await this.#sender.whenEmpty();
    if (this.#calls.length === 0) this.close(1001, 'server stopping');
  }

  #isFull(): boolean {
    return this.#calls.length >= this.#config.maxInflight || !this.#sender.isOpen;
  }

  #pause(): void {
    if (!this.#isClosing) this.#webSocket.pause();
  }

  /** Who goes first, and may take all of the room, is the last the next time. */
  #wakeModels(): void {
    for (let left = this.#calls.length; left > 0 && this.takesMore; left--) {
      const call = this.#calls.first;
      if (call?.place === undefined) return;
      this.#calls.renew(call.place);
      call.reopen();
    }
  }

  /** There may be room again: first for what was read ahead, then for the socket. */
  #proceed(): void {
    if (this.#isProceeding || this.#isClosing) return;
    this.#isProceeding = true;
    while (!this.#isClosing && !this.#isFull()) {
      const next = this.#readAhead.shift();
      if (next === undefined) break;
      this.#take(next.data, next.isBinary);
    }
    this.#isProceeding = false;
    if (this.#isClosing) return;
    if (this.#webSocket.isPaused && !this.#isFull() && this.#readAhead.length === 0) {
      this.#liveness.showLife();
      this.#webSocket.resume();
    }
    if (this.#isDraining) void this.#closeWhenDone();
  }

  readonly #onMessage = (data: RawData, isBinary: boolean): void => {
    // The library has read it piece by piece and then put it together.
    if (Buffer.isBuffer(data)) madeBuffer(2 * data.length);
    if (this.#isClosing) return;
    if (this.#isFull() || this.#readAhead.length > 0) this.#readAhead.push({ data, isBinary });
    else this.#take(data, isBinary);
    if (!this.#isClosing && this.#isFull()) this.#pause();
  };

  #take(data: RawData, isBinary: boolean): void {
    const { frames } = this;
    if (isBinary !== frames.isBinary || !Buffer.isBuffer(data)) {
      this.close(1003, `this subprotocol has ${frames.isBinary ? 'binary' : 'text'} frames`);
      return;
    }
    let id = '';
    try {
      const parts = frames.split(data);
      const message = parseMessage(parts, this.#config.target);
      id = message.id;
      if (message.kind === 'cancel') this.#cancel(id);
      else this.#infer(message, parts);
    } catch (error) {
      this.#refuse(error instanceof MessageError ? error.id : id, toInferError(error));
    }
  }

  /** A request that has ended already is none: its final answer is under way. */
  #cancel(id: string): void {
    this.#callsById.get(id)?.fail(new InferError('CANCELLED', 'request was cancelled', { reason: 'CANCELED' }));
  }

  /** @throws InferError for a request that is not begun */
  #infer(message: InferMessage, parts: Parts): void {
    const { id, modelName, modelVersion } = message;
    const { dataPlane, maxMessageBytes } = this.#config;
    if (this.#isDraining) throw new InferError('UNAVAILABLE', 'Server not ready', { reason: 'REJECTED' });
    if (this.#callsById.has(id)) throw new InferError('ALREADY_EXISTS', `request id '${id}' is in flight on this connection already`);
    const { spec, infer } = dataPlane.model(modelName, modelVersion);
    const { request, rendering } = readMessage(message, { frames: this.frames, parts, spec, maxInputBytes: maxMessageBytes });
    const call = new Call({ owner: this, request, rendering, modelVersion: spec.version });
    call.place = this.#calls.push(call);
    if (id !== '') this.#callsById.set(id, call);
    call.start(infer, spec.decoupled ? 'decoupled' : 'single');
  }

  #refuse(id: string, error: InferError): void {
    this.#logFailure(id, error);
    this.offerFinal(renderError(this.frames, id, error, 'last'));
  }

  #logFailure(id: string, { message }: InferError): void {
    this.#config.log.verbose(1, `${requestPrefix(id)}Infer failed: ${message}`);
  }
}
