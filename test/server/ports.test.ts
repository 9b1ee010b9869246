import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Server as NetServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Server } from '../../src/index.ts';
import { waitingConnections } from '../../src/streams/inference/front-end.ts';
import { folderOf } from '../repository/support/folders.ts';

interface Listened {
  readonly server: NetServer;
  readonly backlog: number | undefined;
}

/** Every `listen` of this process until the test ends, as Node itself tells of it. */
const recordListens = (): readonly Listened[] => {
  const all: Listened[] = [];
  const channel = 'tracing:net.server.listen:asyncStart';
  const onListen = (message: unknown): void => {
    if (typeof message !== 'object' || message === null || !('server' in message) || !('options' in message)) return;
    const { server, options } = message;
    if (!(server instanceof NetServer) || typeof options !== 'object' || options === null) return;
    all.push({ server, backlog: 'backlog' in options && typeof options.backlog === 'number' ? options.backlog : undefined });
  };
  subscribe(channel, onListen);
  onTestFinished(() => {
    unsubscribe(channel, onListen);
  });
  return all;
};

it('lets the system keep a second of short connections for every port, while the server is too busy to take them', async () => {
  const listened = recordListens();
  const local = { address: '127.0.0.1', port: 0 };
  const server = await Server.start({ modelRepository: await folderOf({}), http: local, grpc: local, metrics: local });
  onTestFinished(() => server.close());
  const portOf = (one: NetServer): number | undefined => {
    const address = one.address();
    return typeof address === 'object' ? address?.port : undefined;
  };
  const backlogs = listened.map((one) => [portOf(one.server), one.backlog]);
  const { http, grpc, metrics } = server.ports;
  expect(backlogs).toEqual([grpc, http, metrics].map((port) => [port, waitingConnections]));
  expect(waitingConnections).toBeGreaterThan(511);
});
