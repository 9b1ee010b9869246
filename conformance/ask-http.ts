import { request } from 'node:http';
import { gunzipSync, inflateSync } from 'node:zlib';
import type { HttpCase, Outcome } from './case.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

const send = ({ method, path, headers = {}, body }: HttpCase, port: number): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const call = request(
      { host: '127.0.0.1', port, method, path, headers: { ...length, ...headers }, agent: false, timeout: 30_000 },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }));
      },
    );
    call.on('timeout', () => call.destroy(new Error('no answer within 30 s')));
    call.on('error', reject);
    call.end(body);
  });

const decompress = (body: Buffer, encoding: unknown): Buffer => {
  if (encoding === 'gzip') return gunzipSync(body);
  return encoding === 'deflate' ? inflateSync(body) : body;
};

/** Triton prints NaN and infinities bare; here they become strings, so that they can be compared. */
const parse = (text: string): unknown => {
  const quoted = text.replaceAll(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (token) => (token.startsWith('"') ? token : `"${token}"`));
  try {
    return JSON.parse(quoted, (_key, value, context?: { source?: string }) =>
      typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '') ? context?.source : value,
    );
  } catch {
    return text;
  }
};

/** Status, what the headers say of the body, and the body: JSON as values, tensor bytes in base64. */
export const askHttp = async (question: HttpCase, port: number): Promise<Outcome> => {
  const { status, headers, body } = await send(question, port);
  const content = decompress(body, headers['content-encoding']);
  const headerLength = headers['inference-header-content-length'];
  const jsonBytes = headerLength === undefined ? content.length : Number(headerLength);
  const tensors = content.subarray(jsonBytes);
  return {
    status,
    ...(headers['content-encoding'] === undefined ? {} : { encoding: headers['content-encoding'] }),
    isBinary: headerLength !== undefined,
    body: content.length === 0 ? '' : parse(content.toString('utf8', 0, jsonBytes)),
    ...(tensors.length === 0 ? {} : { tensors: tensors.toString('base64') }),
  };
};
