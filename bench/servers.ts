import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Protocol } from './load/load.ts';
import { onCore } from './measure/pinned.ts';

const root = join(import.meta.dirname, '..');
const listening = {
  http: /Started HTTPService at \S+:(\d+)/,
  grpc: /Started GRPCInferenceService at \S+:(\d+)/,
  metrics: /Started Metrics Service at \S+:(\d+)/,
};

/** A server process. */
export interface Running {
  readonly ports: Readonly<Record<Protocol, number>>;
  readonly pid: number;
  /** Resolves with its exit code; null when it was killed. */
  stop(): Promise<number | null>;
}

export interface RunningWeir extends Running {
  readonly metricsPort: number;
}

/** `http2` speaks gRPC on Node's HTTP/2 alone, both kinds of call; the ports of gRPC are those of a library. */
export type EchoPorts = Readonly<Record<Protocol | 'http2', number>>;

export interface RunningEcho extends Running {
  readonly ports: EchoPorts;
}

export interface StartOptions {
  readonly flags?: readonly string[];
  /** Left out, the system places it. */
  readonly core?: number;
}

interface Started {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly lines: AsyncIterable<string>;
}

const start = (args: readonly string[], core: number | undefined): Started => {
  const [command = '', ...rest] = onCore(core, [process.execPath, ...args]);
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  if (child.pid === undefined) throw new Error(`${command} did not start`);
  return { child, pid: child.pid, lines: createInterface(child.stdout) };
};

const stopper = (child: ChildProcess) => async (): Promise<number | null> => {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  child.kill('SIGTERM');
  await once(child, 'exit');
  return child.exitCode;
};

/** A server in a process of its own, as a user starts it, on ports that are free. */
export const startWeir = async (repository: string, { flags = [], core }: StartOptions = {}): Promise<RunningWeir> => {
  const ports = ['--http-port=0', '--grpc-port=0', '--metrics-port=0'];
  const { child, pid, lines } = start([join(root, 'src', 'main.ts'), `--model-repository=${repository}`, ...ports, ...flags], core);
  const found = { http: 0, grpc: 0, metrics: 0 };
  for await (const line of lines) {
    for (const kind of ['http', 'grpc', 'metrics'] as const) found[kind] = Number(listening[kind].exec(line)?.[1] ?? found[kind]);
    // The last that it opens.
    if (found.metrics > 0) break;
  }
  if (found.metrics === 0) throw new Error('the server ended before it listened');
  child.stdout?.resume();
  return {
    ports: { http: found.http, websocket: found.http, 'grpc-unary': found.grpc, 'grpc-stream': found.grpc },
    metricsPort: found.metrics,
    pid,
    stop: stopper(child),
  };
};

/** Flags of V8 that a server gives itself. */
const engineFlagsOf = (pid: number): readonly string[] => {
  const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1);
  return args.slice(
    0,
    args.findIndex((arg) => !arg.startsWith('-')),
  );
};

/** The bare echoes of `bench/echo`, with the flags of V8 that the server beside it runs with, so that these are no part of the difference. */
export const startEcho = async ({ pid: beside }: Running, { core }: Pick<StartOptions, 'core'> = {}): Promise<RunningEcho> => {
  const { child, pid, lines } = start([...engineFlagsOf(beside), join(import.meta.dirname, 'echo', 'main.ts')], core);
  for await (const line of lines) return { ports: JSON.parse(line), pid, stop: stopper(child) };
  throw new Error('the echo ended before it listened');
};
