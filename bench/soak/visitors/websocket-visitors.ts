import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Target } from '../target.ts';
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

const connect = async ({ httpPort }: Target, subprotocol: string): Promise<WebSocket> => {
  const socket = new WebSocket(`ws://127.0.0.1:${httpPort}/v2/stream`, subprotocol, { perMessageDeflate: false });
  await once(socket, 'open');
  return socket;
};

const receive = async (socket: WebSocket): Promise<Message> => {
  const [data] = await once(socket, 'message');
  return JSON.parse(String(data));
};

const leave = async (socket: WebSocket): Promise<void> => {
  socket.close(1000);
  await once(socket, 'close');
};

const good: Visitor = {
  name: 'a WebSocket that comes and goes',
  visit: async (target) => {
    const socket = await connect(target, 'weir.v2.json');
    for (const id of ['1', '2', '3']) {
      socket.send(message('small', id));
      const answer = await receive(socket);
      expectSame('error', undefined, answer.code);
      expectSame('id', id, answer.id);
    }
    await leave(socket);
  },
};

const cancelling: Visitor = {
  name: 'a WebSocket request that is cancelled',
  visit: async (target) => {
    const socket = await connect(target, 'weir.v2.json');
    socket.send(message('slow', 'a'));
    const answered = receive(socket);
    await sleep(someMs());
    socket.send(JSON.stringify({ cancel: 'a' }));
    const { id, code } = await answered;
    expectSame('id', 'a', id);
    // It may have been too late.
    if (code !== undefined) expectSame('code', 'CANCELLED', code);
    await leave(socket);
  },
};

const leaving: Visitor = {
  name: 'a WebSocket that is cut off',
  visit: async (target) => {
    const socket = await connect(target, 'weir.v2.json');
    for (const id of ['1', '2', '3']) socket.send(message('slow', id));
    await sleep(someMs());
    socket.terminate();
    await once(socket, 'close');
  },
};

const bad: Visitor = {
  name: 'WebSocket: bad messages, then a good one',
  visit: async (target) => {
    const socket = await connect(target, 'weir.v2.json');
    const wanted = [
      ['{"inputs": [', 'INVALID_ARGUMENT'],
      [message('small', '1', 3), 'INVALID_ARGUMENT'],
      [message('nobody', '2'), 'NOT_FOUND'],
      [message('small', '3'), undefined],
    ] as const;
    for (const [text, code] of wanted) {
      socket.send(text);
      expectSame('code', code, (await receive(socket)).code);
    }
    await leave(socket);
  },
};

const wrongFrame: Visitor = {
  name: 'WebSocket: a text frame where binary ones were agreed',
  visit: async (target) => {
    const socket = await connect(target, 'weir.v2.binary');
    socket.send('text');
    const [code] = await once(socket, 'close');
    expectSame('close code', 1003, code);
  },
};

export const webSocketVisitors: readonly Visitor[] = [good, cancelling, leaving, bad, wrongFrame];
