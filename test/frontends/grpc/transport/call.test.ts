import { once } from 'node:events';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { Serve } from '../../../../src/frontends/grpc/transport/call.ts';
import { Connection } from '../../../../src/frontends/grpc/transport/connection.ts';
import { MessageBudget } from '../../../../src/frontends/grpc/transport/message-budget.ts';
import { until } from '../../../support/until.ts';
import { framed, RawClient } from '../support/raw-client.ts';
import { grpcConfig } from '../support/serving.ts';

it('a listener hears nothing after the end of its call, which it hears once', async () => {
  /** What each call was told, in order. */
  const calls: string[][] = [];
  const record: Serve = (call) => {
    const heard: string[] = [];
    calls.push(heard);
    return {
      onReceiveMetadata: () => {
        heard.push('metadata');
        call.startRead();
      },
      onReceiveMessage: () => {
        heard.push('message');
        call.startRead();
      },
      onReceiveHalfClose: () => {
        heard.push('half-close');
        call.sendStatus({ code: 0, details: '' });
        call.sendStatus({ code: 13, details: 'only the first counts' });
      },
      onCancel: () => heard.push('cancel'),
    };
  };
  const config = { ...grpcConfig(), routes: new Map([['/a/b', record]]), limits: { limitBytes: 2 ** 30, budget: new MessageBudget() } };
  const server = createServer((socket) => new Connection(socket, config)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const client = new RawClient(address !== null && typeof address === 'object' ? address.port : 0);
  const message = framed(gzipSync(Buffer.alloc(32 * 2 ** 20)), 1);
  const begin = () => {
    const call = client.call('/a/b', { 'grpc-encoding': 'gzip' });
    const sent = call.sendBytes(message);
    call.halfClose();
    return { call, sent };
  };
  // Its message is being decompressed then, or has not come yet.
  const cancelled = begin();
  await cancelled.sent;
  await until(() => calls.length === 1);
  cancelled.call.cancel();
  await until(() => calls[0]?.at(-1) === 'cancel');
  const whole = begin();
  expect(await whole.call.closed).toMatchObject({ code: '0' });
  await until(() => calls[1]?.at(-1) === 'cancel');
  expect(calls).toEqual([
    ['metadata', 'cancel'],
    ['metadata', 'message', 'half-close', 'cancel'],
  ]);
  client.cut();
  await new Promise((resolve) => server.close(resolve));
});
