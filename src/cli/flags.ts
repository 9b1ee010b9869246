import { built, type Flag } from './flag.ts';
import { backendFlags } from './flags/backend.ts';
import { deprecatedFlags } from './flags/deprecated.ts';
import { grpcFlags } from './flags/grpc.ts';
import { httpFlags } from './flags/http.ts';
import { loggingFlags } from './flags/logging.ts';
import { metricsFlags } from './flags/metrics.ts';
import { modelRepositoryFlags } from './flags/model-repository.ts';
import { notBuiltFlags } from './flags/not-built.ts';
import { rateLimiterFlags } from './flags/rate-limiter.ts';
import { responseCacheFlags } from './flags/response-cache.ts';
import { serverFlags } from './flags/server.ts';
import { webSocketFlags } from './flags/websocket.ts';

const nothing = { argument: '', default: '', apply: () => undefined };

/** Answered by the command itself, before any setting is read. */
const globalFlags: readonly Flag[] = [
  built({ name: 'help', group: 'Global', ...nothing, description: 'Print this and exit.' }),
  built({ name: 'version', group: 'Global', ...nothing, description: "Weir's own. Print the version and exit." }),
];

/** Every flag that the command knows: parsing, help and docs/command-line.md are made from this one table. */
export const flags: readonly Flag[] = [
  ...globalFlags,
  ...serverFlags,
  ...loggingFlags,
  ...modelRepositoryFlags,
  ...httpFlags,
  ...grpcFlags,
  ...webSocketFlags,
  ...metricsFlags,
  ...backendFlags,
  ...responseCacheFlags,
  ...rateLimiterFlags,
  ...notBuiltFlags,
  ...deprecatedFlags,
];
