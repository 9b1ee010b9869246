import { once } from 'node:events';
import type { Agent, IncomingHttpHeaders } from 'node:http';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface Call {
  readonly path: string;
  /** POST when there is a body, else GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Chunked when there are several. */
  readonly body?: string | Uint8Array | readonly Uint8Array[];
  readonly agent?: Agent;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

/** One call on node's own client, which adds nothing and decodes nothing. */
export const call = async (port: number, { path, method, headers = {}, body, agent }: Call): Promise<Reply> => {
  const options = {
    host: '127.0.0.1',
    port,
    path,
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(agent && { agent }),
  };
  const outgoing = request(options);
  if (typeof body === 'string' || body === undefined || body instanceof Uint8Array) outgoing.end(body);
  else {
    for (const piece of body) outgoing.write(piece);
    outgoing.end();
  }
  const [incoming] = await once(outgoing, 'response');
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece);
  const all = Buffer.concat(pieces);
  return { status: incoming.statusCode, headers: incoming.headers, body: all, text: all.toString() };
};

/** The message of an error answer, with its status in front. */
export const failure = async (port: number, details: Call): Promise<string> => {
  const { status, text } = await call(port, details);
  const parsed: { readonly error?: string } = JSON.parse(text);
  return `${status} ${parsed.error}`;
};

export interface TensorDocument {
  readonly name: string;
  readonly shape: readonly number[];
  readonly datatype: string;
  readonly data?: unknown;
  readonly parameters?: unknown;
}

export const jsonInput = (
  name: string,
  datatype: string,
  data: readonly unknown[],
  shape: readonly number[] = [data.length],
): TensorDocument => ({
  name,
  datatype,
  shape,
  data,
});

/** An infer request in JSON. */
export const inferJson = (model: string, inputs: readonly TensorDocument[], more: object = {}): Call => ({
  path: `/v2/models/${model}/infer`,
  body: JSON.stringify({ ...more, inputs }),
});

export interface BinaryInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** An infer request whose tensors follow the JSON; so do those of its answer. */
export const inferBinary = (
  model: string,
  inputs: readonly BinaryInput[],
  more: object = { parameters: { binary_data_output: true } },
): Call => {
  const head = Buffer.from(
    JSON.stringify({
      ...more,
      inputs: inputs.map(({ bytes, ...input }) => ({ ...input, parameters: { binary_data_size: bytes.byteLength } })),
    }),
  );
  return {
    path: `/v2/models/${model}/infer`,
    headers: { 'Inference-Header-Content-Length': String(head.byteLength) },
    body: Buffer.concat([head, ...inputs.map(({ bytes }) => bytes)]),
  };
};

/** JSON part and tensor bytes of a binary answer. */
export const splitAnswer = ({ headers, body }: Reply): { readonly head: string; readonly tail: Buffer } => {
  const length = Number(headers['inference-header-content-length'] ?? body.length);
  return { head: body.toString('utf8', 0, length), tail: body.subarray(length) };
};

/** A bare connection. */
export const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
};

/** Everything that comes until the other side ends. */
export const readAll = async (socket: Socket): Promise<string> => {
  let text = '';
  for await (const piece of socket) text += piece;
  return text;
};

/** What has come once `pattern` is in it. */
export const readUntil = (socket: Socket, pattern: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = '';
    const onData = (piece: Buffer): void => {
      text += piece.toString('latin1');
      if (!pattern.test(text)) return;
      socket.off('data', onData);
      resolve(text);
    };
    socket.on('data', onData);
    socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
  });
