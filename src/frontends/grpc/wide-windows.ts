import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

/** What a client may send ahead on one call, and on all calls of a connection. With HTTP/2's own 64 kB a message of 1 MiB waits for the server 16 times. */
export const callWindowBytes = 4 * 1024 * 1024;
export const connectionWindowBytes = 16 * 1024 * 1024;
/** Every frame is an event of its own: HTTP/2's own 16 kB make 64 of them out of a message of 1 MiB. */
export const frameBytes = 1024 * 1024;

const channel = 'http2.server.stream.created';

const peer = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string => `${remoteAddress} ${remotePort}`;

const isCreation = (message: unknown): message is { readonly stream: ServerHttp2Stream } =>
  typeof message === 'object' && message !== null && 'stream' in message;

/**
 * Gives the connections of one server wide flow-control windows. The library has an option for those of clients only, and shows no server's
 * sessions: Node's diagnostics channel tells of each with its first call. A Node without that channel keeps HTTP/2's own windows.
 */
export class WideWindows {
  readonly #peers = new Set<string>();
  readonly #seen = new WeakSet<Http2Session>();

  /** To be told of a connection before its first call. Nothing is left of it when the last connection has closed. */
  add(socket: Socket): void {
    const name = peer(socket);
    if (this.#peers.size === 0) subscribe(channel, this.#onCall);
    this.#peers.add(name);
    socket.once('close', () => {
      this.#peers.delete(name);
      if (this.#peers.size === 0) unsubscribe(channel, this.#onCall);
    });
  }

  readonly #onCall = (message: unknown): void => {
    if (!isCreation(message)) return;
    const { session } = message.stream;
    if (session === undefined || this.#seen.has(session)) return;
    this.#seen.add(session);
    // Other servers of this process keep what they have.
    if (!this.#peers.has(peer(session.socket))) return;
    session.settings({ initialWindowSize: callWindowBytes, maxFrameSize: frameBytes });
    session.setLocalWindowSize(connectionWindowBytes);
  };
}
