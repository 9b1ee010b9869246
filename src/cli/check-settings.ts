import { metricsAddress } from '../server/listeners.ts';
import type { ServerSettings } from '../server/settings.ts';
import { UsageError } from './usage-error.ts';

interface Listener {
  readonly serves: string;
  readonly address: string;
  readonly port: number;
}

const listeners = (settings: ServerSettings): readonly Listener[] => {
  const { http, grpc, metrics } = settings;
  return [
    ...(http.allow ? [{ serves: 'HTTP', address: http.address, port: http.port }] : []),
    ...(grpc.allow ? [{ serves: 'GRPC', address: grpc.address, port: grpc.port }] : []),
    ...(metrics.allow ? [{ serves: 'metrics', address: metricsAddress(settings), port: metrics.port }] : []),
  ];
};

/** What one flag cannot know about another. Port 0 is any free port, so it never collides. @throws UsageError */
export const checkSettings = (settings: ServerSettings): void => {
  if (settings.models.repositories.length === 0) throw new UsageError('--model-repository must be specified');
  const all = listeners(settings).filter(({ port }) => port !== 0);
  for (const [index, first] of all.entries()) {
    const second = all.slice(index + 1).find(({ address, port }) => address === first.address && port === first.port);
    if (second === undefined) continue;
    throw new UsageError(
      `The server cannot listen to ${first.serves} requests and ${second.serves} requests at the same address and port ${first.address}:${first.port}`,
    );
  }
};
