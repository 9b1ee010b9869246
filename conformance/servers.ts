import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const here = import.meta.dirname;

export interface Target {
  readonly name: 'triton' | 'weir';
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly metricsPort: number;
  stop(): Promise<void>;
}

/** Triton cannot be asked for a free port, so one is found for it. */
const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
};

const commands = {
  triton: [join(here, 'triton.sh')],
  weir: [process.execPath, join(here, '..', 'src', 'main.ts')],
};

/** Starts either server on a repository and waits until its ports are open. */
export const startTarget = async (name: 'triton' | 'weir', repository: string): Promise<Target> => {
  const [httpPort, grpcPort, metricsPort] = [await freePort(), await freePort(), await freePort()];
  const [command = '', ...first] = commands[name];
  const flags = [`--model-repository=${repository}`, `--http-port=${httpPort}`, `--grpc-port=${grpcPort}`, `--metrics-port=${metricsPort}`];
  const child = spawn(command, [...first, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const listening = new Promise<void>((resolve, reject) => {
    for (const output of [child.stdout, child.stderr]) {
      createInterface(output).on('line', (line) => {
        lines.push(line);
        if (line.includes('Started Metrics Service at')) resolve();
      });
    }
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}:\n${lines.slice(-30).join('\n')}`)));
  });
  await listening;
  return {
    name,
    httpPort,
    grpcPort,
    metricsPort,
    stop: async () => {
      child.removeAllListeners('exit');
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
};
