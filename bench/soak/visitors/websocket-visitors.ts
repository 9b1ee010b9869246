import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { expectSame, someMs, type Visitor } from '../visitor.ts';

interface Message {
  readonly id?: string;
  readonly code?: string;
}

const message = (model: string, id: string, values = 16): string =>
  JSON.stringify({
    id,
    model_name: model,
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, values], data: Array(values).fill(1) }],
  });

/** A visit over a connection of its own, which is gone when the visit has ended, however that was. */
const visitor = (name: string, subprotocol: string, talk: (socket: WebSocket) => Promise<void>): Visitor => ({
  name,
  visit: async ({ httpPort }) => {
    const socket = new WebSocket(`ws://127.0.0.1:${httpPort}/v2/stream`, subprotocol, { perMessageDeflate: false });
    try {
      await once(socket, 'open');
      await talk(socket);
    } finally {
      socket.terminate();
    }
  },
});

const receive = async (socket: WebSocket): Promise<Message> => {
  const [data] = await once(socket, 'message');
  return JSON.parse(String(data));
};

const leave = async (socket: WebSocket): Promise<void> => {
  socket.close(1000);
  await once(socket, 'close');
};

const good = visitor('a WebSocket that comes and goes', 'weir.v2.json', async (socket) => {
  for (const id of ['1', '2', '3']) {
    socket.send(message('small', id));
    const answer = await receive(socket);
    expectSame('error', undefined, answer.code);
    expectSame('id', id, answer.id);
  }
  await leave(socket);
});

const cancelling = visitor('a WebSocket request that is cancelled', 'weir.v2.json', async (socket) => {
  socket.send(message('slow', 'a'));
  const answered = receive(socket);
  await sleep(someMs());
  socket.send(JSON.stringify({ cancel: 'a' }));
  const { id, code } = await answered;
  expectSame('id', 'a', id);
  // It may have been too late.
  if (code !== undefined) expectSame('code', 'CANCELLED', code);
  await leave(socket);
});

const cutOff = visitor('a WebSocket that is cut off', 'weir.v2.json', async (socket) => {
  for (const id of ['1', '2', '3']) socket.send(message('slow', id));
  await sleep(someMs());
});

const bad = visitor('WebSocket: bad messages, then a good one', 'weir.v2.json', async (socket) => {
  const wanted = [
    ['{"inputs": [', 'INTERNAL'],
    [message('small', '1', 3), 'INVALID_ARGUMENT'],
    [message('nobody', '2'), 'NOT_FOUND'],
    [message('small', '3'), undefined],
  ] as const;
  for (const [text, code] of wanted) {
    socket.send(text);
    expectSame('code', code, (await receive(socket)).code);
  }
  await leave(socket);
});

const wrongFrame = visitor('WebSocket: a text frame where binary ones were agreed', 'weir.v2.binary', async (socket) => {
  socket.send('text');
  const [code] = await once(socket, 'close');
  expectSame('close code', 1003, code);
});

export const webSocketVisitors: readonly Visitor[] = [good, cancelling, cutOff, bad, wrongFrame];
