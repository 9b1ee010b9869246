import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const missing =
  'redis-server was not found. These tests run against a real one: install the package redis-server (apt-get install redis-server), as .ci/run does.';

/** A port that is free now: Redis cannot be asked to choose one. */
export const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  probe.close();
  await once(probe, 'close');
  return address.port;
};

/** A Redis of its own for a test: a process on 127.0.0.1 that keeps nothing on disk. */
export class RedisServer {
  readonly port: number;
  readonly #options: readonly string[];
  readonly #directory = mkdtempSync(join(tmpdir(), 'weir-redis-'));
  #process: ChildProcess | undefined;

  private constructor(port: number, options: readonly string[]) {
    this.port = port;
    this.#options = options;
  }

  /** `{port}` in an option is the port; with `--tls-port` the plain one has to be turned off by `--port`. */
  static async start(...options: readonly string[]): Promise<RedisServer> {
    const port = await freePort();
    const server = new RedisServer(
      port,
      options.map((option) => option.replace('{port}', `${port}`)),
    );
    await server.run();
    return server;
  }

  /** Resolves when it takes connections; on the same port after `kill`. */
  async run(): Promise<void> {
    const fixed = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.#directory];
    const port = this.#options.includes('--port') ? [] : ['--port', `${this.port}`];
    const child = spawn('redis-server', [...port, ...fixed, ...this.#options], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process = child;
    const failed = once(child, 'error').then(([error]) => {
      throw new Error(missing, { cause: error });
    });
    const exited = once(child, 'exit').then(([code]) => {
      throw new Error(`redis-server ended with status ${code}`);
    });
    await Promise.race([this.#isReady(child), failed, exited]);
    for (const promise of [failed, exited]) promise.catch(() => {});
  }

  /** As a crash. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** It stops answering, and keeps its connections. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #isReady({ stdout }: ChildProcess): Promise<void> {
    if (stdout === null) throw new Error('no output');
    const lines = createInterface(stdout);
    for await (const line of lines) if (line.includes('Ready to accept connections')) break;
    stdout.resume();
  }
}
