import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchOptions } from './bench.ts';
import type { Load, Protocol } from './load/load.ts';
import { compareServers } from './measure/compare-servers.ts';
import { serverCore } from './measure/pinned.ts';
import { type Summary, summarise } from './measure/summarise.ts';
import { type EchoPorts, startEcho, startWeir } from './servers.ts';

export interface Contest {
  readonly floats: number;
  /** In flight, but for HTTP, which takes a connection for each. */
  readonly connections: number;
  readonly perConnection: number;
}

interface Match {
  readonly title: string;
  readonly protocol: Protocol;
  readonly echo: keyof EchoPorts;
}

/** gRPC twice: beside the library that others serve it with, and beside what Weir serves it on. */
const matches: readonly Match[] = [
  { title: 'grpc-unary', protocol: 'grpc-unary', echo: 'grpc-unary' },
  { title: 'grpc-stream', protocol: 'grpc-stream', echo: 'grpc-stream' },
  { title: 'grpc-unary, bare HTTP/2', protocol: 'grpc-unary', echo: 'http2' },
  { title: 'grpc-stream, bare HTTP/2', protocol: 'grpc-stream', echo: 'http2' },
  { title: 'websocket', protocol: 'websocket', echo: 'websocket' },
  { title: 'http', protocol: 'http', echo: 'http' },
];

/** A model that sends back FP32 rows, with batching as it is without settings. */
export const identityConfig = (floats: number): string => `backend: "identity"
max_batch_size: 64
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ ${floats} ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ ${floats} ] } ]
dynamic_batching { }
`;

const loadOf = (protocol: Protocol, { floats, connections, perConnection }: Contest, seconds: number) =>
  ({
    protocol,
    question: {
      model: 'identity',
      inputs: [{ name: 'INPUT0', shape: [1, floats] }],
      outputs: [{ name: 'OUTPUT0', shape: [1, floats] }],
      isIdentity: true,
    },
    connections: protocol === 'http' ? connections * perConnection : connections,
    perConnection: protocol === 'http' ? 1 : perConnection,
    streamsPerConnection: 1,
    warmUpMs: 1_000,
    measureMs: seconds * 1_000,
  }) satisfies Partial<Load>;

/** The identity model against the bare echo, protocol by protocol. */
export const identityContest = async (contest: Contest, { rounds = 4, seconds = 3, only }: BenchOptions): Promise<readonly Summary[]> => {
  const repository = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  mkdirSync(join(repository, 'identity', '1'), { recursive: true });
  writeFileSync(join(repository, 'identity', 'config.pbtxt'), identityConfig(contest.floats));
  const weir = await startWeir(repository, { core: serverCore });
  const echo = await startEcho(weir, { core: serverCore });
  const summaries: Summary[] = [];
  try {
    for (const { title, protocol, echo: beside } of matches.filter((each) => only.length === 0 || only.includes(each.protocol))) {
      const pairs = await compareServers({
        weir: { port: weir.ports[protocol], serverPid: weir.pid },
        echo: { port: echo.ports[beside], serverPid: echo.pid },
        load: loadOf(protocol, contest, seconds),
        rounds,
      });
      summaries.push(summarise(title, pairs));
    }
  } finally {
    await Promise.all([weir.stop(), echo.stop()]);
    rmSync(repository, { recursive: true });
  }
  return summaries;
};
