import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

const started = { http: /Started HTTPService at \S+:(\d+)"/, grpc: /Started GRPCInferenceService at \S+:(\d+)"/ };

/** The command in a process of its own; killed, if it still runs, when it is disposed of. */
export class WeirProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #out = '';
  #err = '';
  #onOutput = new Set<() => void>();

  constructor(...args: readonly string[]) {
    this.#child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#closed = once(this.#child, 'close');
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text;
      this.#heard();
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#err += text;
      this.#heard();
    });
    void this.#closed.then(() => this.#heard());
  }

  get out(): string {
    return this.#out;
  }

  get err(): string {
    return this.#err;
  }

  /** Resolves with the match once it has been written, on either output; rejects when the process ends without it. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.#out) ?? pattern.exec(this.#err);
      if (match !== null) return match;
      if (this.#child.exitCode !== null && this.#child.stdout?.readableEnded === true) {
        throw new Error(`the process ended without ${pattern}:\n${this.#out}${this.#err}`);
      }
      await new Promise<void>((resolve) => this.#onOutput.add(resolve));
    }
  }

  async url(): Promise<string> {
    const [, port] = await this.says(started.http);
    return `http://127.0.0.1:${port}`;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The exit status, or the signal that ended it. */
  async ended(): Promise<number | string | null> {
    await this.#closed;
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }

  #heard(): void {
    const waiting = [...this.#onOutput];
    this.#onOutput.clear();
    for (const resolve of waiting) resolve();
  }
}

export const anyPorts = ['--http-port=0', '--grpc-port=0', '--metrics-port=0', '--http-address=127.0.0.1', '--grpc-address=127.0.0.1'];
