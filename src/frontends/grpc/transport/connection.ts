import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Unsubscribable } from 'rxjs';
import { machineScheduler } from '../../../streams/flow/clock.ts';
import { WaitingList } from '../../../streams/flow/waiting-list.ts';
import { InferError } from '../../../streams/inference/error.ts';
import type { Serve } from './call.ts';
import { toStatus } from './call-status.ts';
import type { MessageLimits } from './decompress.ts';
import { answerHeaders, trailers } from './headers.ts';
import { ServedCall } from './served-call.ts';

export interface ConnectionConfig {
  /** Who answers, by path (`/package.Service/Method`). */
  readonly routes: ReadonlyMap<string, Serve>;
  readonly limits: MessageLimits;
  /** How long a connection is silent before the server pings it, and how long the answer may take. */
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Age at which a connection takes no new calls, and what its calls have left then; 0 for no limit. */
  readonly maxConnectionAgeMs: number;
  readonly maxConnectionAgeGraceMs: number;
}

/** What a client may send ahead on one call, and on all calls of a connection. With HTTP/2's own 64 kB a message of 1 MiB waits for the server 16 times. */
export const callWindowBytes = 4 * 1024 * 1024;
export const connectionWindowBytes = 16 * 1024 * 1024;
/** Every frame is an event of its own: HTTP/2's own 16 kB make 64 of them out of a message of 1 MiB. */
export const frameBytes = 1024 * 1024;
/** Calls that a connection may have open; its client keeps others until one has ended. */
const openCalls = 65_536;
/**
 * Calls that a client may cancel in a second before its connection is closed for it, the calls of others behind the same proxy included. HTTP/2's own
 * 33 are less than a client with short deadlines has. A call that is cancelled costs no more than one that is answered.
 */
const resetCalls = 1_000_000;

/**
 * What the headers of one call may be. Clients that are told of the bytes keep to them; of others the call is reset. Each header has memory of its own for as
 * long as its call is open. As many as fit the 8 KiB that gRPC's C core takes are enough.
 */
const headerBytes = 64 * 1024;
const headerCount = 256;

const sessionOptions = {
  settings: {
    initialWindowSize: callWindowBytes,
    maxFrameSize: frameBytes,
    maxConcurrentStreams: openCalls,
    maxHeaderListSize: headerBytes,
  },
  maxHeaderListPairs: headerCount,
  // In MB, of all that waits on a connection: the front end counts answers itself, and holds calls back where Node would refuse them.
  maxSessionMemory: Number.MAX_SAFE_INTEGER,
  streamResetBurst: resetCalls,
  streamResetRate: resetCalls,
};

/** In the first of two GOAWAYs. The second names the last call that is answered; a client knows that it may ask the others again, elsewhere. */
const lastOfAllCalls = 2 ** 31 - 1;

/** Connections of one age would all be closed at one time, and all come back at once. */
const ageJitter = 0.1;
const jittered = (ageMs: number): number => ageMs * (1 - ageJitter + 2 * ageJitter * Math.random());

const isGrpc = (headers: IncomingHttpHeaders): boolean => headers['content-type']?.startsWith('application/grpc') === true;

const refuse = (stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void => {
  stream.on('error', () => {});
  stream.respond(headers, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
};

/** One client's connection: begins its calls, pings it when it is silent, and ends it at its age. */
export class Connection {
  readonly #config: ConnectionConfig;
  readonly #socket: Socket;
  readonly #session: ServerHttp2Session;
  readonly #peer: string;
  readonly #calls = new WaitingList<ServedCall>();
  #bytesRead = 0;
  #silence: Unsubscribable | undefined;
  #patience: Unsubscribable | undefined;
  #age: Unsubscribable | undefined;

  constructor(socket: Socket, config: ConnectionConfig) {
    this.#config = config;
    this.#socket = socket;
    this.#peer = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#session = performServerHandshake(socket, sessionOptions);
    this.#session.setLocalWindowSize(connectionWindowBytes);
    this.#session.on('stream', (stream, headers, _flags, rawHeaders) => this.#onStream(stream, headers, rawHeaders));
    // `close` follows, and says the same.
    this.#session.on('error', () => {});
    this.#session.on('close', () => this.#onClose());
    this.#awaitSilence();
    if (config.maxConnectionAgeMs > 0) this.#age = machineScheduler.schedule(() => this.#onAge(), jittered(config.maxConnectionAgeMs));
  }

  /** Takes no new calls, and closes when those it has are over. */
  close(): void {
    if (!this.#session.destroyed) this.#session.close();
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    // It may have gone before it is told of, and would not be told of again.
    if (stream.destroyed || stream.closed) {
      stream.on('error', () => {});
      stream.destroy();
      return;
    }
    if (!isGrpc(headers)) {
      refuse(stream, { ':status': 415 });
      return;
    }
    const path = headers[':path'] ?? '';
    const serve = this.#config.routes.get(path);
    if (serve === undefined) {
      const unknown = new InferError('UNIMPLEMENTED', `The server does not implement the method ${path}`);
      refuse(stream, { ...answerHeaders, ...trailers(toStatus(unknown)) });
      return;
    }
    new ServedCall({ stream, headers, rawHeaders, peer: this.#peer, limits: this.#config.limits, calls: this.#calls }, serve);
  }

  #awaitSilence(): void {
    this.#silence = machineScheduler.schedule(() => this.#onInterval(), this.#config.keepaliveTimeMs);
  }

  #onInterval(): void {
    const { bytesRead } = this.#socket;
    if (bytesRead === this.#bytesRead) this.#ping();
    this.#bytesRead = bytesRead;
    this.#awaitSilence();
  }

  #ping(): void {
    if (this.#session.destroyed || this.#patience !== undefined) return;
    this.#patience = machineScheduler.schedule(() => this.#session.destroy(), this.#config.keepaliveTimeoutMs);
    this.#session.ping(() => {
      this.#patience?.unsubscribe();
      this.#patience = undefined;
    });
  }

  #onAge(): void {
    if (this.#session.destroyed) return;
    this.#session.goaway(constants.NGHTTP2_NO_ERROR, lastOfAllCalls, Buffer.from('max_age'));
    this.close();
    const graceMs = this.#config.maxConnectionAgeGraceMs;
    if (graceMs > 0) this.#age = machineScheduler.schedule(() => this.#session.destroy(), graceMs);
  }

  #onClose(): void {
    this.#silence?.unsubscribe();
    this.#patience?.unsubscribe();
    this.#age?.unsubscribe();
    // Node does not say of each stream that it has gone with its connection.
    for (const call of [...this.#calls]) call.cut();
  }
}
