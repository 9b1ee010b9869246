import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Load, LoadResult, Protocol } from '../load/load.ts';
import { askProcess } from '../measure/ask-process.ts';
import { sampleResident, socketCount } from '../measure/memory.ts';
import type { RunningWeir } from '../servers.ts';
import { busyGauges, cancellations, type Sample, scrape, unwantedFailures } from './metrics.ts';
import type { VisitorCount, VisitorsRun } from './run-visitors.ts';
import { questions } from './target.ts';

export interface SoakConfig {
  readonly durationMs: number;
  readonly sampleMs: number;
}

/** What came of a soak, up to the server's end. */
export interface Soak {
  readonly loads: readonly { readonly load: Load; readonly result: LoadResult }[];
  readonly visitors: readonly VisitorCount[];
  readonly residentMiB: readonly number[];
  readonly cancellations: number;
  /** What was left when all clients had gone; what should not have failed and did. */
  readonly left: readonly string[];
  readonly unwanted: readonly string[];
  readonly exitSeconds: number;
  readonly exitCode: number | null;
}

const protocols: readonly Protocol[] = ['grpc-unary', 'grpc-stream', 'websocket', 'http'];
const settleMs = 10_000;

const loadsOf = (server: RunningWeir, durationMs: number): readonly Load[] =>
  protocols.flatMap((protocol) => {
    const shared = {
      protocol,
      port: server.ports[protocol],
      answeredBy: 'model',
      streamsPerConnection: 1,
      warmUpMs: 0,
      measureMs: durationMs,
      serverPid: server.pid,
      serverCore: -1,
    } as const;
    return [
      { ...shared, question: questions.small, connections: protocol === 'http' ? 4 : 2, perConnection: protocol === 'http' ? 1 : 2 },
      { ...shared, question: questions.large, connections: 1, perConnection: 1 },
    ];
  });

/** What is still there some seconds after the last client has gone. */
const settled = async (server: RunningWeir, socketsBefore: number): Promise<{ left: readonly string[]; samples: readonly Sample[] }> => {
  const untilMs = performance.now() + settleMs;
  for (;;) {
    const samples = await scrape(server.metricsPort);
    const sockets = socketCount(server.pid) - socketsBefore;
    const left = [...busyGauges(samples), ...(sockets > 0 ? [`${sockets} sockets are left`] : [])];
    if (left.length === 0 || performance.now() > untilMs) return { left, samples };
    await sleep(100);
  }
};

/** Mixed load on one server, and then its end. */
export const runSoak = async (server: RunningWeir, { durationMs, sampleMs }: SoakConfig): Promise<Soak> => {
  const socketsBefore = socketCount(server.pid);
  const loads = loadsOf(server, durationMs);
  const run: VisitorsRun = { target: { httpPort: server.ports.http, grpcPort: server.ports['grpc-unary'] }, durationMs };
  const over = new AbortController();
  const sampling = sampleResident(server.pid, sampleMs, over.signal);
  const [results, visitors] = await Promise.all([
    askProcess<readonly LoadResult[]>(join(import.meta.dirname, 'loads-main.ts'), loads, undefined),
    askProcess<readonly VisitorCount[]>(join(import.meta.dirname, 'visitors-main.ts'), run, undefined),
  ]).finally(() => over.abort());
  const { left, samples: metrics } = await settled(server, socketsBefore).catch((error: unknown) => ({
    left: [`the server does not answer any more: ${error}`],
    samples: [],
  }));
  const beganMs = performance.now();
  const exitCode = await server.stop();
  return {
    loads: loads.flatMap((load, index) => {
      const result = results[index];
      return result === undefined ? [] : [{ load, result }];
    }),
    visitors,
    residentMiB: await sampling,
    cancellations: cancellations(metrics),
    left,
    unwanted: unwantedFailures(metrics),
    exitSeconds: (performance.now() - beganMs) / 1000,
    exitCode,
  };
};
