import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Requests that a client may send ahead of its answers on one connection. One that sends more is cut off. */
export const mostPipelined = 1024;

export type Handle = (request: IncomingMessage, response: ServerResponse) => void;

type Exchange = readonly [IncomingMessage, ServerResponse];

/**
 * The connections of one server, each with one request at a time: the next one begins when the answer before it has left. So a client that sends
 * many requests and reads no answers holds the memory of one.
 */
export class Connections {
  readonly #handle: Handle;
  readonly #connections = new Map<Duplex, Connection>();
  #isClosing = false;

  constructor(server: Server, handle: Handle) {
    this.#handle = handle;
    server.on('connection', this.#add);
    server.on('request', this.#onRequest);
  }

  /** Requests that wait for the one before them. */
  get waiting(): number {
    let waiting = 0;
    for (const connection of this.#connections.values()) waiting += connection.waiting;
    return waiting;
  }

  isBusy(socket: Socket): boolean {
    return this.#connections.get(socket)?.isBusy ?? false;
  }

  /** HTTP is done with this one: whoever has it now ends it, or the deadline does. */
  release(socket: Duplex): void {
    this.#connections.get(socket)?.release();
  }

  /** Ends the connections that have no request; the others end with their answers. */
  finish(): void {
    this.#isClosing = true;
    for (const connection of this.#connections.values()) connection.finish();
  }

  destroy(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  readonly #add = (socket: Socket): void => {
    if (this.#isClosing) {
      socket.destroy();
      return;
    }
    this.#connections.set(socket, new Connection(socket, this.#handle));
    socket.once('close', this.#remove.bind(this, socket));
  };

  #remove(socket: Socket): void {
    this.#connections.delete(socket);
  }

  readonly #onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    this.#connections.get(request.socket)?.accept(request, response);
  };
}

class Connection {
  readonly #socket: Socket;
  readonly #handle: Handle;
  readonly #waiting: Exchange[] = [];
  #current: ServerResponse | undefined;
  #isClosing = false;
  #isReleased = false;

  constructor(socket: Socket, handle: Handle) {
    this.#socket = socket;
    this.#handle = handle;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  accept(request: IncomingMessage, response: ServerResponse): void {
    if (this.#current === undefined) {
      this.#start(request, response);
      return;
    }
    this.#waiting.push([request, response]);
    if (this.#waiting.length > mostPipelined) this.#socket.destroy();
  }

  release(): void {
    this.#isReleased = true;
  }

  finish(): void {
    this.#isClosing = true;
    if (this.#isReleased) return;
    if (this.#current === undefined) this.#socket.destroy();
    else if (!this.#current.headersSent) this.#current.shouldKeepAlive = false;
    else this.#current.once('close', () => this.#socket.end());
  }

  #start(request: IncomingMessage, response: ServerResponse): void {
    this.#current = response;
    if (this.#isClosing) response.shouldKeepAlive = false;
    response.on('close', this.#onClose);
    this.#handle(request, response);
  }

  readonly #onClose = (): void => {
    this.#current = undefined;
    const next = this.#waiting.shift();
    if (next !== undefined && !this.#socket.destroyed) this.#start(...next);
  };
}
