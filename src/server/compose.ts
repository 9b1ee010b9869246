import { once } from 'node:events';
import { identityBackend } from '../backends/identity/identity-backend.ts';
import { onnxruntimeBackend } from '../backends/onnxruntime/onnxruntime-backend.ts';
import { createRepository, type Repository } from '../repository/repository.ts';
import { machineScheduler } from '../streams/flow/clock.ts';
import type { DataPlane } from '../streams/inference/data-plane.ts';
import { toInferError } from '../streams/inference/error.ts';
import type { ServerLog } from '../telemetry/log.ts';
import { createMetrics, type Metrics } from '../telemetry/prometheus.ts';
import { createStatistics, type Statistics } from '../telemetry/statistics.ts';
import { defaultMaxBatchSize, settingsOfBackend, unreadSettings } from './backend-settings.ts';
import { type Closing, closeParts } from './close-parts.ts';
import { describeError } from './code-names.ts';
import { frontEndsOf, webSocketOf } from './front-ends.ts';
import { modelTable } from './model-table.ts';
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

const repositoryOf = ({ id, models }: ServerSettings, statistics: Statistics, log: ServerLog): Repository => {
  const { backendConfig } = models;
  for (const warning of unreadSettings(backendConfig)) log.warning(warning);
  const backends = [
    onnxruntimeBackend({ config: settingsOfBackend(backendConfig, 'onnxruntime'), log: log.named('onnxruntime') }),
    identityBackend(),
  ];
  const batchSizes = new Map(backends.map(({ name }) => [name, defaultMaxBatchSize(backendConfig, name)]));
  return createRepository({
    paths: models.repositories,
    backends: new Map(backends.map((backend) => [backend.name, backend])),
    autoComplete: models.autoCompleteConfig,
    strictReadiness: models.strictReadiness,
    exitOnError: models.exitOnError,
    loadLimit: models.loadThreadCount,
    defaultMaxQueueSize: models.defaultMaxQueueSize,
    defaultMaxBatchSize: (backend) => batchSizes.get(backend) ?? 0,
    serverId: id,
    serverVersion: packageVersion,
    statistics,
    sink: statistics.sink,
    scheduler: machineScheduler,
    log: log.named('repository'),
  });
};

/** @throws InferError when a model does not load and the server is to end then */
const loadModels = async (repository: Repository, exitOnError: boolean, log: ServerLog, signal: AbortSignal): Promise<void> => {
  const settled = new AbortController();
  const stopped = once(signal, 'abort', { signal: settled.signal }).catch(() => undefined);
  const report = await Promise.race([repository.load(), stopped]);
  settled.abort();
  signal.throwIfAborted();
  if (report === undefined || !('models' in report)) return;
  log.table('Models:', modelTable(report.models));
  if (report.failure !== undefined && exitOnError) throw report.failure;
};

/**
 * Builds a server and starts it: models first, then ports, so that none is open before the models answer.
 *
 * Rejects with a StartError; nothing is left then of what had started. When the signal has aborted it rejects with the signal's reason as cause.
 */
export const compose = async ({ settings, log, signal }: ComposeConfig): Promise<RunningServer> => {
  const statistics = createStatistics();
  const opened: OpenFrontEnd[] = [];
  const fail = (message: string, cause: unknown, threadsEnded: boolean): StartError => new StartError(message, { cause, threadsEnded });

  let repository: Repository;
  try {
    repository = repositoryOf(settings, statistics, log);
  } catch (error) {
    throw fail(`creating server: ${describeError(toInferError(error))}`, error, true);
  }
  const { dataPlane } = repository;
  const webSocket = webSocketOf(settings, dataPlane, log);
  const metrics = createMetrics({
    statistics,
    graphs: dataPlane.graphs,
    webSocket: settings.http.allow ? webSocket.connections : undefined,
    cpu: settings.metrics.allowCpu,
    counterLatencies: settings.metrics.counterLatencies,
    intervalMs: settings.metrics.intervalMs,
  });
  const close = (): Promise<Closing> => closeParts({ repository, webSocket, frontEnds: opened, seconds: settings.exitTimeoutSeconds, log });

  try {
    signal.throwIfAborted();
    await loadModels(repository, settings.models.exitOnError, log, signal);
  } catch (error) {
    const { threadsEnded } = await close();
    throw fail(`creating server: ${describeError(toInferError(error))}`, error, threadsEnded);
  }
  try {
    await openFrontEnds(frontEndsOf({ settings, dataPlane, webSocket, metrics, log }), opened, log);
    signal.throwIfAborted();
  } catch (error) {
    const { threadsEnded } = await close();
    throw fail(error instanceof Error ? error.message : String(error), error, threadsEnded);
  }
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
