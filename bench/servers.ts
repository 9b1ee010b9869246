import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(import.meta.dirname, '..');
const started = { http: /Started HTTPService at \S+:(\d+)/, grpc: /Started GRPCInferenceService at \S+:(\d+)/ };

export interface Running {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A server in a process of its own, as a user starts it, on ports that are free. */
export const startServer = async (repository: string, flags: readonly string[] = []): Promise<Running> => {
  const child: ChildProcess = spawn(
    process.execPath,
    [join(root, 'src', 'main.ts'), `--model-repository=${repository}`, '--http-port=0', '--grpc-port=0', '--metrics-port=0', ...flags],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  if (child.stdout === null || child.pid === undefined) throw new Error('the server process did not start');
  const ports = { http: 0, grpc: 0 };
  for await (const line of createInterface(child.stdout)) {
    for (const kind of ['http', 'grpc'] as const) ports[kind] = Number(started[kind].exec(line)?.[1] ?? ports[kind]);
    if (ports.http > 0 && ports.grpc > 0) break;
  }
  if (ports.grpc === 0) throw new Error('the server ended before it listened');
  child.stdout.resume();
  return {
    httpPort: ports.http,
    grpcPort: ports.grpc,
    pid: child.pid,
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
};
