import { once } from 'node:events';
import type { ClientOptions } from 'ws';
import { WebSocket } from 'ws';

/** What of a message the tests look at by name. */
interface MessageDocument {
  readonly id: string;
  readonly error?: string;
  readonly code?: string;
  readonly parameters: { readonly triton_final_response: boolean };
  readonly outputs: readonly OutputDocument[];
}

interface OutputDocument {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
  readonly parameters: { readonly binary_data_size: number };
}

export interface Received {
  readonly json: MessageDocument;
  /** What follows the JSON header on the binary subprotocol. */
  readonly tail: Buffer;
  readonly isBinary: boolean;
}

/** A client that keeps what it gets until it is asked for. */
export class Client {
  readonly webSocket: WebSocket;
  /** The close code. */
  readonly closed: Promise<number>;
  readonly #received: Received[] = [];
  readonly #waiting: ((message: Received) => void)[] = [];

  constructor(url: string, protocols: readonly string[], options: ClientOptions) {
    this.webSocket = new WebSocket(url, [...protocols], options);
    this.closed = new Promise((resolve) => this.webSocket.once('close', resolve));
    this.webSocket.on('error', () => {});
    this.webSocket.on('message', (data: Buffer, isBinary) => {
      const headerEnd = isBinary ? 4 + data.readUInt32LE(0) : data.length;
      const json: MessageDocument = JSON.parse(data.toString('utf8', isBinary ? 4 : 0, headerEnd));
      const message = { json, tail: data.subarray(headerEnd), isBinary };
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#received.push(message);
      else waiting(message);
    });
  }

  /** Sends on the subprotocol that was agreed. */
  send(message: object, ...tensors: readonly Uint8Array[]): void {
    const json = Buffer.from(JSON.stringify(message));
    if (this.webSocket.protocol !== 'weir.v2.binary') {
      this.webSocket.send(json, { binary: false });
      return;
    }
    const length = Buffer.alloc(4);
    length.writeUInt32LE(json.length);
    this.webSocket.send(Buffer.concat([length, json, ...tensors]));
  }

  receive(): Promise<Received> {
    const message = this.#received.shift();
    return message === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(message);
  }

  /** All messages until one request has had its final one. */
  async receiveAll(): Promise<Received[]> {
    const all: Received[] = [];
    for (;;) {
      const message = await this.receive();
      all.push(message);
      if (message.json.parameters.triton_final_response === true) return all;
    }
  }

  async close(): Promise<number> {
    this.webSocket.close(1000);
    return this.closed;
  }
}

export const connectClient = async (url: string, protocols: readonly string[] = [], options: ClientOptions = {}): Promise<Client> => {
  const client = new Client(url, protocols, options);
  await once(client.webSocket, 'open');
  return client;
};

/** Status and body of an upgrade that is refused. */
export const refusal = async (
  url: string,
  protocols: readonly string[] = [],
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: string }> => {
  const webSocket = new WebSocket(url, [...protocols], { headers });
  webSocket.on('error', () => {});
  const [, response] = await once(webSocket, 'unexpected-response');
  let body = '';
  response.setEncoding('utf8');
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, body };
};
