import { Agent, request } from 'node:http';
import { serveHttp } from '../../../src/frontends/http/serve.ts';
import { httpStatus } from '../../../src/frontends/http/status.ts';
import type { Listening } from '../../../src/streams/inference/front-end.ts';
import { isDatatype } from '../../../src/streams/tensors/datatype.ts';
import { type Begun, frontEndContract, type Outcome, type Question, type QuestionTensor } from '../../contracts/front-end-contract.ts';
import { inferBinary, open, readAll, splitAnswer } from './support/client.ts';
import { httpConfig } from './support/serving.ts';

interface AnswerDocument {
  readonly error?: string;
  readonly outputs?: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly number[];
    readonly parameters: { readonly binary_data_size: number };
  }[];
}

const outcomeOf = (status: number, headers: Readonly<Record<string, string | string[] | undefined>>, body: Buffer): Outcome => {
  const { head, tail } = splitAnswer({ status, headers, body, text: '' });
  const document: AnswerDocument = JSON.parse(head);
  let at = 0;
  const outputs = (document.outputs ?? []).map(({ name, datatype, shape, parameters }): QuestionTensor => {
    const bytes = tail.subarray(at, at + parameters.binary_data_size);
    at += bytes.length;
    if (!isDatatype(datatype)) throw new Error(datatype);
    return { name, datatype, shape, bytes };
  });
  return { status: String(status), message: document.error ?? '', outputs };
};

const begin = (port: number, agent: Agent, question: Question): Begun => {
  const { path, headers = {}, body } = inferBinary(question.model, question.inputs);
  const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent });
  const outcome = new Promise<Outcome>((resolve, reject) => {
    outgoing.on('error', reject);
    outgoing.on('response', async (incoming) => {
      const pieces: Buffer[] = [];
      for await (const piece of incoming) pieces.push(piece);
      resolve(outcomeOf(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(pieces)));
    });
  });
  outcome.catch(() => {});
  outgoing.end(body);
  return { outcome, cancel: () => outgoing.destroy() };
};

const connect = async ({ port }: Listening) => {
  const agent = new Agent({ keepAlive: true });
  return { begin: (question: Question) => begin(port, agent, question), close: () => agent.destroy() };
};

frontEndContract({
  name: 'HTTP',
  statusOf: (code) => String(code === 'OK' ? 200 : httpStatus(code)),
  open: (dataPlane) => serveHttp(dataPlane, httpConfig()),
  connect,
  sendGarbage: async ({ port }) => {
    for (const garbage of [
      'garbage\r\n\r\n',
      'POST /v2/models/echo/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nConnection: close\r\n\r\n{"inputs"',
    ]) {
      const socket = await open(port);
      socket.write(garbage);
      await readAll(socket);
    }
  },
  readNothing: async ({ port }, question, count) => {
    const { path, headers = {}, body } = inferBinary(question.model, question.inputs);
    const text = Buffer.from(body as Uint8Array).toString('latin1');
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = await open(port);
    socket.pause();
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}Content-Length: ${text.length}\r\n\r\n${text}`.repeat(count),
      'latin1',
    );
    return { leave: () => void socket.destroy() };
  },
});
