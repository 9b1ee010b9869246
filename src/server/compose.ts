import { once } from 'node:events';
import { createRepository, type LoadReport, type Repository } from '../repository/repository.ts';
import { machineScheduler } from '../streams/flow/clock.ts';
import type { DataPlane } from '../streams/inference/data-plane.ts';
import { toInferError } from '../streams/inference/error.ts';
import type { ResponseCache } from '../streams/inference/response-cache.ts';
import { ModelMetrics } from '../telemetry/custom-metrics.ts';
import type { ServerLog } from '../telemetry/log.ts';
import { createMetrics, type Metrics } from '../telemetry/prometheus.ts';
import { createStatistics, type Statistics } from '../telemetry/statistics.ts';
import { defaultMaxBatchSize, unreadSettings } from './backend-settings.ts';
import { type BackendsConfig, backends } from './backends.ts';
import { type Closing, closeParts } from './close-parts.ts';
import { describeError } from './describe-error.ts';
import { frontEndsOf, webSocketOf } from './front-ends.ts';
import { modelCalls } from './model-calls.ts';
import { modelTable } from './model-table.ts';
import { openCache } from './open-cache.ts';
import { type OpenFrontEnd, openFrontEnds } from './open-front-ends.ts';
import { packageVersion } from './package-version.ts';
import type { ServerSettings } from './settings.ts';
import { StartError } from './start-error.ts';

export interface ComposeConfig {
  readonly settings: ServerSettings;
  readonly log: ServerLog;
  /** Ends a start that is under way. */
  readonly signal: AbortSignal;
}

/** A server that answers. */
export interface RunningServer {
  readonly dataPlane: DataPlane;
  readonly metrics: Metrics;
  readonly frontEnds: readonly OpenFrontEnd[];
  /** Ends everything, work in flight first. The same promise again when called again. */
  close(): Promise<Closing>;
}

interface RepositoryParts extends Pick<BackendsConfig, 'calls' | 'metrics' | 'log'> {
  readonly statistics: Statistics;
  readonly cache: ResponseCache | undefined;
}

/** @throws InferError INVALID_ARGUMENT for a bad setting of a backend */
const repositoryOf = ({ id, models }: ServerSettings, { calls, metrics, statistics, cache, log }: RepositoryParts): Repository => {
  const { backendConfig } = models;
  for (const warning of unreadSettings(backendConfig)) log.warning(warning);
  const all = backends({ settings: backendConfig, calls, metrics, log });
  const batchSizes = new Map(all.map(({ name }) => [name, defaultMaxBatchSize(backendConfig, name)]));
  return createRepository({
    paths: models.repositories,
    backends: new Map(all.map((backend) => [backend.name, backend])),
    autoComplete: models.autoCompleteConfig,
    strictReadiness: models.strictReadiness,
    exitOnError: models.exitOnError,
    loadLimit: models.loadThreadCount,
    defaultMaxQueueSize: models.defaultMaxQueueSize,
    defaultMaxBatchSize: (backend) => batchSizes.get(backend) ?? 0,
    rateLimit: models.rateLimit,
    holds: models,
    cache,
    serverId: id,
    serverVersion: packageVersion,
    statistics,
    sink: statistics.sink,
    scheduler: machineScheduler,
    log: log.named('repository'),
  });
};

/** The report, or undefined once the signal has aborted. */
const reportOf = async (loading: Promise<LoadReport>, signal: AbortSignal): Promise<LoadReport | undefined> => {
  if (signal.aborted) return undefined;
  const settled = new AbortController();
  const stopped = once(signal, 'abort', { signal: settled.signal }).then(
    () => undefined,
    () => undefined,
  );
  const report = await Promise.race([loading, stopped]);
  settled.abort();
  return report;
};

/**
 * Builds a server and starts it: models first, then ports, so that none is open before the models answer.
 *
 * Rejects with a StartError, also when the signal has aborted; what had started is closed again by then.
 */
export const compose = async ({ settings, log, signal }: ComposeConfig): Promise<RunningServer> => {
  const statistics = createStatistics();
  const opened: OpenFrontEnd[] = [];

  const modelMetrics = new ModelMetrics();
  let cache: ResponseCache | undefined;
  let repository: Repository;
  try {
    cache = settings.cache === undefined ? undefined : openCache(settings.cache.name, settings.cache.settings, log.named('cache'));
    const calls = modelCalls(() => repository.dataPlane);
    repository = repositoryOf(settings, { calls, metrics: modelMetrics, statistics, cache, log });
  } catch (error) {
    await cache?.close();
    throw new StartError(`creating server: ${describeError(toInferError(error))}`, { cause: error, step: 'load', threadsEnded: true });
  }
  const { dataPlane } = repository;
  const webSocket = webSocketOf(settings, dataPlane, log);
  const metrics = createMetrics({
    statistics,
    graphs: dataPlane.graphs,
    loadSeconds: repository.loadSeconds,
    cache,
    models: modelMetrics,
    frontEnds: () => ({
      grpc: opened.find((each) => each.kind === 'grpc')?.counters(),
      http: opened.find((each) => each.kind === 'http')?.counters(),
      webSocket: settings.http.allow ? webSocket.connections() : undefined,
    }),
    cpu: settings.metrics.allowCpu,
    counterLatencies: settings.metrics.counterLatencies,
    intervalMs: settings.metrics.intervalMs,
  });
  const loading = repository.load();
  const close = (): Promise<Closing> =>
    closeParts({ repository, loading, cache, webSocket, frontEnds: opened, seconds: settings.exitTimeoutSeconds, log });
  const giveUp = async (step: StartError['step'], message: string, cause: unknown): Promise<StartError> => {
    const { threadsEnded } = await close();
    return new StartError(message, { cause, step, threadsEnded });
  };

  const report = await reportOf(loading, signal);
  if (report === undefined) throw await giveUp('load', 'creating server: stopped while models were loading', signal.reason);
  log.table('Models:', modelTable(report.models));
  if (report.failure !== undefined && settings.models.exitOnError) {
    throw await giveUp('load', `creating server: ${describeError(report.failure)}`, report.failure);
  }
  try {
    await openFrontEnds(frontEndsOf({ settings, dataPlane, webSocket, metrics, log }), opened, log);
  } catch (error) {
    throw await giveUp('listen', toInferError(error).message, error);
  }
  if (signal.aborted) throw await giveUp('listen', 'creating server: stopped while ports were opened', signal.reason);
  let closing: Promise<Closing> | undefined;
  return {
    dataPlane,
    metrics,
    frontEnds: opened,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
};
