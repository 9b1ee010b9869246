import type { Bench } from './bench.ts';
import { identityContest } from './identity-contest.ts';
import { comparisonTable } from './measure/comparison-table.ts';
import { section } from './measure/markdown.ts';
import { pinnedNote } from './measure/pinned.ts';

/** Small requests: what Weir adds to the libraries that it stands on. */
export const identity: Bench = {
  isDefault: true,
  about: 'small tensors against a bare echo on the same libraries',
  run: async (options) => {
    const summaries = await identityContest({ floats: 16, connections: 8, perConnection: 8 }, options);
    const about = `FP32 [1,16] to the identity backend and back, dynamic batching on, against an echo on fastify, ws, grpc-js, and on Node's HTTP/2 alone; 64 requests in flight on 8 connections (HTTP: 64); ${pinnedNote}.`;
    const body = comparisonTable(summaries, { heading: 'req/s', of: (rate) => rate });
    return { section: section('Small tensors: Weir against a bare echo', 'identity', about, body), faults: [] };
  },
};
