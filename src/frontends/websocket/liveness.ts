import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/** While an answer is under way a ping would stand behind it, so the client gets more time to show progress. */
const silentTicksWhileSending = 3;

export interface LivenessTick {
  /** True while the server itself does not read, so that no pong can come. */
  readonly mayBeSilent: boolean;
}

/** Whether a client is still there, judged once per ping interval: it answered the ping, sent something, or took something. */
export class Liveness {
  readonly #webSocket: WebSocket;
  readonly #socket: Duplex;
  #hasShownLife = true;
  #bytesReadBefore = 0;
  #silentTicks = 0;

  constructor(webSocket: WebSocket, socket: Duplex) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    webSocket.on('pong', () => this.showLife());
  }

  showLife(): void {
    this.#hasShownLife = true;
  }

  /** False once the client is to be given up; else it has been pinged. */
  tick({ mayBeSilent }: LivenessTick): boolean {
    const isSending = this.#webSocket.bufferedAmount > 0;
    const bytesRead = this.#socket instanceof Socket ? this.#socket.bytesRead : 0;
    const lives = this.#hasShownLife || mayBeSilent || bytesRead > this.#bytesReadBefore;
    this.#bytesReadBefore = bytesRead;
    this.#hasShownLife = false;
    this.#silentTicks = lives ? 0 : this.#silentTicks + 1;
    if (this.#silentTicks >= (isSending ? silentTicksWhileSending : 1)) return false;
    if (!isSending) this.#webSocket.ping();
    return true;
  }
}
