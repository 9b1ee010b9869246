import type { Bench } from './bench.ts';
import { identityContest } from './identity-contest.ts';
import { comparisonTable } from './measure/comparison-table.ts';
import { section } from './measure/markdown.ts';
import { pinnedNote } from './measure/pinned.ts';

const tensorMiB = 8;

/** Large requests: how often Weir copies what it is sent. */
export const large: Bench = {
  isDefault: true,
  about: '8 MiB tensors against a bare echo on the same libraries',
  run: async (options) => {
    const summaries = await identityContest(
      { floats: tensorMiB * 2 ** 18, connections: 2, perConnection: 2 },
      { ...options, seconds: options.seconds ?? 5 },
    );
    const about = `FP32 tensors of ${tensorMiB} MiB to the identity backend and back, against an echo on fastify, ws, grpc-js, and on Node's HTTP/2 alone; 4 requests in flight on 2 connections (HTTP: 4); MiB/s are those of one direction; ${pinnedNote}.`;
    const body = comparisonTable(summaries, { heading: 'MiB/s', of: (rate) => rate * tensorMiB });
    return { section: section(`Tensors of ${tensorMiB} MiB: Weir against a bare echo`, 'large', about, body), faults: [] };
  },
};
