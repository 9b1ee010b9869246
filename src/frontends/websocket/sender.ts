import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { Outbox } from '../../streams/flow/outbox.ts';

interface SenderConfig {
  readonly webSocket: WebSocket;
  /** The socket under it. */
  readonly socket: Duplex;
  readonly isBinary: boolean;
  /** First mark of the outbox: `onPause` is called above it, and `onResume` once the reader has caught up. */
  readonly pauseAboveBytes: number;
  /** Second mark: above it `offer` refuses. */
  readonly refuseAboveBytes: number;
  readonly onPause: () => void;
  readonly onResume: () => void;
  /** A frame has left the process. */
  readonly onSent: () => void;
}

/** The sink says it is full when this much waits in the socket: enough to keep the kernel's buffer fed. */
const socketMarkBytes = 64 * 1024;

/** Sends the frames of one connection in the order of their offers, through an outbox for readers that are slow. */
export class Sender {
  readonly #config: SenderConfig;
  readonly #sendOptions: { readonly binary: boolean };
  readonly #outbox: Outbox<Buffer>;
  #isCorked = false;

  constructor(config: SenderConfig) {
    this.#config = config;
    this.#sendOptions = { binary: config.isBinary };
    this.#outbox = new Outbox<Buffer>({
      write: this.#write,
      size: (frame) => frame.length,
      pauseAboveBytes: config.pauseAboveBytes,
      // The second mark is looked at in `offer`, since final frames pass it.
      refuseAboveBytes: Number.POSITIVE_INFINITY,
      onPause: config.onPause,
      onResume: config.onResume,
    });
  }

  get queuedBytes(): number {
    return this.#outbox.queuedBytes;
  }

  /** False while more than the first mark waits. */
  get isOpen(): boolean {
    return this.#outbox.isOpen;
  }

  /** False, and the frame is not taken, while more than the second mark waits. */
  offer(frame: Buffer): boolean {
    return this.#outbox.queuedBytes <= this.#config.refuseAboveBytes && this.#outbox.offer(frame);
  }

  /** Takes a small frame in any case. Whoever offers bounds their number. */
  offerAlways(frame: Buffer): void {
    this.#outbox.offer(frame);
  }

  whenEmpty(): Promise<void> {
    return this.#outbox.whenEmpty();
  }

  close(): void {
    this.#outbox.close();
  }

  readonly #write = (frame: Buffer): boolean => {
    const { webSocket } = this.#config;
    this.#corkForThisTick();
    webSocket.send(frame, this.#sendOptions, this.#onSent);
    return webSocket.bufferedAmount <= socketMarkBytes;
  };

  readonly #onSent = (): void => {
    this.#config.onSent();
    if (this.#config.webSocket.bufferedAmount <= socketMarkBytes) this.#outbox.drained();
  };

  /** Answers of one batch come in one tick: they leave in one write. */
  #corkForThisTick(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#config.socket.cork();
    process.nextTick(this.#uncork);
  }

  readonly #uncork = (): void => {
    this.#isCorked = false;
    this.#config.socket.uncork();
  };
}
