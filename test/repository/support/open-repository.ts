import { onTestFinished } from 'vitest';
import { identityBackend } from '../../../src/backends/identity/identity-backend.ts';
import type { LoadReport, Repository, RepositoryConfig } from '../../../src/repository/repository.ts';
import { createRepository } from '../../../src/repository/repository.ts';
import { machineScheduler } from '../../../src/streams/flow/clock.ts';
import { createStatistics } from '../../../src/telemetry/statistics.ts';
import { makeLog } from '../../support/model.ts';

export interface OpenRepository {
  readonly repository: Repository;
  readonly report: LoadReport;
  readonly log: ReturnType<typeof makeLog>;
}

/** A repository with the defaults of the command line, not loaded yet. */
export const newRepository = (
  paths: readonly string[],
  options: Partial<RepositoryConfig> = {},
): { readonly repository: Repository; readonly log: ReturnType<typeof makeLog> } => {
  const log = makeLog();
  const statistics = createStatistics();
  const repository = createRepository({
    rateLimit: { mode: 'off', resources: [] },
    holds: {},
    cache: undefined,
    paths,
    backends: new Map([['identity', identityBackend()]]),
    autoComplete: true,
    strictReadiness: true,
    exitOnError: false,
    loadLimit: 4,
    defaultMaxQueueSize: 100,
    defaultMaxBatchSize: () => 4,
    serverId: 'weir',
    serverVersion: '1.2.3',
    statistics,
    sink: statistics.sink,
    scheduler: machineScheduler,
    log,
    ...options,
  });
  onTestFinished(() => repository.close());
  return { repository, log };
};

/** The same, loaded; closed when the test ends. */
export const openRepository = async (paths: readonly string[], options: Partial<RepositoryConfig> = {}): Promise<OpenRepository> => {
  const { repository, log } = newRepository(paths, options);
  return { repository, log, report: await repository.load() };
};
