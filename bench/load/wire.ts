import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One buffer for each connection that every read goes into. */
const readBytes = 256 * 1024;
const joinedBytes = 64 * 1024;

export interface WireEvents {
  /** The bytes are valid until it returns. */
  onBytes(bytes: Buffer): void;
  /** The connection is gone without having been closed from here. */
  onLost(why: string): void;
}

/** A TCP connection whose writes of one turn leave together. */
export class Wire {
  readonly #socket: Socket;
  readonly #events: WireEvents;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isReading = false;
  #isClosed = false;

  constructor(port: number, events: WireEvents) {
    this.#events = events;
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    const callback = (length: number): boolean => {
      this.#isReading = true;
      events.onBytes(length === readBytes ? buffer : buffer.subarray(0, length));
      this.#isReading = false;
      this.#flush();
      return true;
    };
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true, onread: { buffer, callback } });
    this.#socket.on('error', (error) => this.#lose(error.message));
    this.#socket.on('close', () => this.#lose('the server closed the connection'));
  }

  async opened(): Promise<void> {
    await once(this.#socket, 'connect');
  }

  write(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (!this.#isReading) this.#flush();
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #lose(why: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.onLost(why);
  }

  #flush(): void {
    const waiting = this.#waiting;
    const [first] = waiting;
    if (first === undefined) return;
    this.#waiting = [];
    if (waiting.length === 1) this.#socket.write(first);
    else if (this.#waitingBytes <= joinedBytes) this.#socket.write(Buffer.concat(waiting, this.#waitingBytes));
    else {
      this.#socket.cork();
      for (const bytes of waiting) this.#socket.write(bytes);
      this.#socket.uncork();
    }
    this.#waitingBytes = 0;
  }
}
