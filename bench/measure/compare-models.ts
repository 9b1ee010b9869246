import type { LoadResult } from '../load/load.ts';
import type { Running } from '../servers.ts';
import { inTurn } from './in-turn.ts';
import { loadBlock } from './load-block.ts';
import { table } from './markdown.ts';
import { median } from './median.ts';

export interface ModelContest {
  readonly server: Running;
  /** Two models of the server that send FP32 [1, floats] back: its name, and how to call it. */
  readonly model: Contestant;
  readonly beside: Contestant;
  readonly floats: number;
  readonly rounds: number;
  readonly measureMs: number;
}

interface Contestant {
  readonly name: string;
  readonly title: string;
}

export interface ModelComparison {
  readonly table: string;
  /** Medians: what part of the other's requests the model answers, by time and by processor time. */
  readonly ratio: number;
  readonly cpuRatio: number;
}

const rateOf = ({ answered, seconds }: LoadResult): number => answered / seconds;

/** Loads two models of one server in turn over gRPC streams, 64 requests in flight. Rejects when a request fails. */
export const compareModels = async ({ server, model, beside, floats, rounds, measureMs }: ModelContest): Promise<ModelComparison> => {
  const block = ({ name }: Contestant): Promise<LoadResult> =>
    loadBlock({
      protocol: 'grpc-stream',
      port: server.ports['grpc-stream'],
      serverPid: server.pid,
      answeredBy: 'model',
      question: {
        model: name,
        inputs: [{ name: 'INPUT0', shape: [1, floats] }],
        outputs: [{ name: 'OUTPUT0', shape: [1, floats] }],
        isIdentity: true,
      },
      connections: 8,
      perConnection: 8,
      streamsPerConnection: 1,
      warmUpMs: 1_000,
      measureMs,
    });
  const pairs = await inTurn(
    rounds,
    () => block(model),
    () => block(beside),
  );
  const columns = [`${model.title} req/s`, `${beside.title} req/s`, 'ratio', `${model.title} CPU µs`, `${beside.title} CPU µs`];
  const rows = pairs.map(([first, second]) => [
    rateOf(first).toFixed(0),
    rateOf(second).toFixed(0),
    (rateOf(first) / rateOf(second)).toFixed(2),
    first.serverCpuUs.toFixed(1),
    second.serverCpuUs.toFixed(1),
  ]);
  return {
    table: table(columns, rows),
    ratio: median(pairs.map(([first, second]) => rateOf(first) / rateOf(second))),
    cpuRatio: median(pairs.map(([first, second]) => second.serverCpuUs / first.serverCpuUs)),
  };
};
