import { Subscription } from 'rxjs';
import { RateLimiter } from '../operators/rate-limiter/rate-limiter.ts';
import type { ResourceLimit } from '../operators/rate-limiter/resource-pools.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import type { Backend } from '../streams/inference/backend.ts';
import type { DataPlane, ModelIndexEntry } from '../streams/inference/data-plane.ts';
import { InferError, toInferError } from '../streams/inference/error.ts';
import type { EventSink } from '../streams/inference/events.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ResponseCache } from '../streams/inference/response-cache.ts';
import type { ModelStatistics } from '../streams/inference/statistics.ts';
import type { SchedulerHolds } from './assemble.ts';
import { availableGpus } from './available-gpus.ts';
import type { RateLimitMode } from './config/check-resources.ts';
import type { ServerState } from './data-plane.ts';
import { createDataPlane, duplicateReason } from './data-plane.ts';
import { loadModels } from './load-models.ts';
import { Registry, unloaded } from './registry.ts';
import type { Scan } from './scan.ts';
import { scan } from './scan.ts';

export interface RateLimitSettings {
  readonly mode: RateLimitMode;
  /** What there is; empty for as much as the one instance takes that takes most. */
  readonly resources: readonly ResourceLimit[];
}

export interface RepositoryConfig {
  /** Folders of model folders. */
  readonly paths: readonly string[];
  readonly backends: ReadonlyMap<string, Backend>;
  /** Whether configs are completed from the models' files, and may be missing. */
  readonly autoComplete: boolean;
  readonly strictReadiness: boolean;
  /** Whether a model that fails to load fails the server. */
  readonly exitOnError: boolean;
  /** Models loaded at a time. */
  readonly loadLimit: number;
  /** Bound of a model's waiting requests where its config has none. */
  readonly defaultMaxQueueSize: number;
  /** For a model that can batch and does not say how much; 0 for none. */
  readonly defaultMaxBatchSize: (backend: string) => number;
  readonly serverId: string;
  readonly serverVersion: string;
  readonly statistics: {
    of(name: string, version: string): ModelStatistics;
    forget(name: string, version: string): void;
  };
  readonly rateLimit: RateLimitSettings;
  readonly holds: SchedulerHolds;
  /** Undefined for a server without one. */
  readonly cache: ResponseCache | undefined;
  readonly sink: EventSink;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

export interface LoadReport {
  /** Every version of every model, and the models that have none, as the index has them. */
  readonly models: readonly ModelIndexEntry[];
  /** Undefined when every model is served. A server with `exitOnError` ends with it. */
  readonly failure: InferError | undefined;
}

/** The models of a server, from the folders on disk to the running graphs. */
export interface Repository {
  readonly dataPlane: DataPlane;
  /** How long a version that is ready took to load; undefined for any other. */
  loadSeconds(name: string, version: string): number | undefined;
  /** Loads every model, once. Never rejects. */
  load(): Promise<LoadReport>;
  /** From now on the server is not ready and the metadata calls get UNAVAILABLE. */
  beginExit(): void;
  /** Models take no more requests; resolves when none is left in them. */
  drain(): Promise<void>;
  /** Unloads every model: what still waits or runs fails. A load that goes on is cancelled. */
  close(): void;
}

const nothingFound: Scan = { folders: [], duplicates: [] };

export const createRepository = (config: RepositoryConfig): Repository => {
  const { log, statistics } = config;
  const registry = new Registry();
  const lifetime = new Subscription();
  const { mode, resources } = config.rateLimit;
  const rateLimiter = mode === 'off' ? undefined : new RateLimiter({ resources, log });
  let state: ServerState = 'starting';

  const settle = (failure: InferError | undefined, loaded: ServerState): LoadReport => {
    if (state === 'starting') state = loaded;
    return { models: registry.index(), failure };
  };

  const loadFolders = async ({ folders, duplicates }: Scan): Promise<void> => {
    for (const name of duplicates) {
      registry.add(name, duplicateReason);
      log.error(`failed to poll model '${name}': not unique across all model repositories`);
    }
    const gpus = await availableGpus();
    const options = { ...config, rateLimit: config.rateLimit.mode, rateLimiter, gpus, registry, lifetime };
    await loadModels(folders, options);
  };

  return {
    dataPlane: createDataPlane({ ...config, registry, state: () => state, statisticsOf: (name, version) => statistics.of(name, version) }),
    loadSeconds: (name, version) => registry.ready(name, version)?.loadSeconds,
    async load() {
      let found = nothingFound;
      try {
        found = await scan(config.paths);
      } catch (error) {
        const failure = toInferError(error);
        log.error(failure.message);
        return settle(failure, 'failed');
      }
      await loadFolders(found);
      const isWhole = registry.index().every((model) => model.state === 'READY');
      const failure = isWhole ? undefined : new InferError('INTERNAL', 'failed to load all models');
      return settle(failure, isWhole || !config.exitOnError ? 'ready' : 'failed');
    },
    beginExit() {
      state = 'exiting';
    },
    async drain() {
      await Promise.all(registry.allReady().map(({ running }) => running.drain()));
    },
    close() {
      const ready = registry.allReady();
      for (const { served } of ready) registry.setState(served.spec.name, served.spec.version, 'UNLOADING');
      lifetime.unsubscribe();
      for (const { served } of ready) {
        const { name, version } = served.spec;
        registry.setState(name, version, 'UNAVAILABLE', unloaded);
        statistics.forget(name, version);
        log.info(`successfully unloaded '${name}' version ${version}`);
      }
    },
  };
};
