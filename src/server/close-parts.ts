import { workersStopped } from '../backends/workers/workers-stopped.ts';
import type { WebSocketFrontEnd } from '../frontends/websocket/serve.ts';
import type { Repository } from '../repository/repository.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ResponseCache } from '../streams/inference/response-cache.ts';
import { startDeadline } from './deadline.ts';
import type { OpenFrontEnd } from './open-front-ends.ts';
import { reportDraining } from './report-draining.ts';

interface CloseConfig {
  readonly repository: Repository;
  /** Settles when nothing is loaded any more. */
  readonly loading: Promise<unknown>;
  /** Undefined for a server without one. */
  readonly cache: ResponseCache | undefined;
  readonly webSocket: WebSocketFrontEnd;
  /** In the order in which they were opened. */
  readonly frontEnds: readonly OpenFrontEnd[];
  /** One budget for all of it. */
  readonly seconds: number;
  readonly log: Log;
}

/** How a shutdown went. */
export interface Closing {
  /** Work in flight had its answers, and everything ended within the budget. */
  readonly inTime: boolean;
  /** False while a worker thread may still be inside native code. */
  readonly threadsEnded: boolean;
}

/** Threads and sockets without work take a moment to end, too. */
const shortestSeconds = 1;

/**
 * Readiness off, work in flight, ports, workers: in this order. Ports stay open while work is in flight, so that health checks hear `not ready` and new
 * work hears UNAVAILABLE, instead of nothing at all; metrics last. What has not ended in time is cut off. Never rejects.
 */
export const closeParts = async ({ repository, loading, cache, webSocket, frontEnds, seconds, log }: CloseConfig): Promise<Closing> => {
  const deadline = startDeadline(Math.max(shortestSeconds, seconds));
  repository.beginExit();
  const stopReporting = reportDraining({ log, seconds, graphs: repository.dataPlane.graphs });
  const drained = await deadline.isMet(repository.drain());
  stopReporting();

  const [last, others] = [frontEnds.filter(({ kind }) => kind === 'metrics'), frontEnds.filter(({ kind }) => kind !== 'metrics')];
  // They cut off what is left when the deadline passes, so they always end.
  await Promise.allSettled([webSocket.close(deadline.signal), ...others.map((frontEnd) => frontEnd.close(deadline.signal))]);
  log.info('All models are stopped, unloading models');
  repository.close();
  await cache?.close();
  const threadsEnded = await deadline.isMet(loading.then(workersStopped));
  await Promise.allSettled(last.map((frontEnd) => frontEnd.close(deadline.signal)));
  const inTime = drained && threadsEnded && !deadline.signal.aborted;
  deadline.cancel();
  return { inTime, threadsEnded };
};
