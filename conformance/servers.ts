import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

const here = import.meta.dirname;

export interface Target {
  readonly name: 'triton' | 'weir';
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly metricsPort: number;
  /** What it has logged. */
  readonly lines: readonly string[];
  /** False once its process has ended, however it did. */
  isAlive(): boolean;
  stop(): Promise<void>;
}

export interface TargetOptions {
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
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

/** What `triton.sh` makes on first use. Weir's Python models run in it too: it has numpy, and what differs is then the server's. */
const pythonFolder = join(process.env.TRITON_HOME ?? join(process.env.TMPDIR ?? '/tmp', 'weir-triton'), 'venv', 'bin');

/** Both read one repository: neither leaves anything in it. */
const environmentOf = (name: 'triton' | 'weir', given: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONDONTWRITEBYTECODE: '1',
  ...(name === 'weir' ? { PATH: `${pythonFolder}${delimiter}${process.env.PATH}` } : {}),
  ...given,
});

const stopLimitMs = 15_000;

/** Starts either server on a repository and waits until its ports are open. */
export const startTarget = async (name: 'triton' | 'weir', repository: string, options: TargetOptions = {}): Promise<Target> => {
  const [httpPort, grpcPort, metricsPort] = [await freePort(), await freePort(), await freePort()];
  const [command = '', ...first] = commands[name];
  const ports = [`--model-repository=${repository}`, `--http-port=${httpPort}`, `--grpc-port=${grpcPort}`, `--metrics-port=${metricsPort}`];
  const child = spawn(command, [...first, ...ports, ...(options.flags ?? [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environmentOf(name, options.environment ?? {}),
  });
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  // Nothing is left when this process ends early.
  process.once('exit', kill);
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
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    name,
    httpPort,
    grpcPort,
    metricsPort,
    lines,
    isAlive,
    stop: async () => {
      child.removeAllListeners('exit');
      if (!isAlive()) return;
      child.kill('SIGTERM');
      const killing = setTimeout(kill, stopLimitMs);
      await once(child, 'exit');
      clearTimeout(killing);
      process.off('exit', kill);
    },
  };
};
