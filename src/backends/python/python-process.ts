import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Duplex, type Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { Log } from '../../streams/inference/log.ts';
import { trackEnding } from '../workers/workers-stopped.ts';
import type { Interpreter } from './find-python.ts';
import { frameReader } from './frame-reader.ts';
import { type Frame, frameBytes, frameFlags, writeFrame } from './frames.ts';
import { outputLines } from './output-lines.ts';
import { readGently } from './read-gently.ts';

const script = fileURLToPath(new URL('./stub/weir_start.py', import.meta.url));
const channelFd = 3;

/** After the end of a process, for what it said before. */
const longestReadMs = 1000;

export interface ProcessEnd {
  readonly reason: string;
  /** Undefined for a process that a signal has ended, or that has never begun. */
  readonly status: number | undefined;
  readonly wasTold: boolean;
}

export interface PythonProcessConfig {
  /** For messages: the instance's name. */
  readonly name: string;
  readonly interpreter: Interpreter;
  /** Names of its shared memory begin with it. */
  readonly memoryPrefix: string;
  readonly log: Log;
  /** `payload` is valid during the call. What it throws ends the process. */
  readonly onFrame: (frame: Frame, payload: Buffer) => void;
  /** It has ended, by itself or because it was told to, or has never begun: once, with what is known of why. */
  readonly onEnd: (end: ProcessEnd) => void;
}

/**
 * A Python process and the way to it. It leads a group of its own, so that a Ctrl-C at the terminal is not for it, and so that what it has started
 * ends with it.
 */
export class PythonProcess {
  readonly #config: PythonProcessConfig;
  readonly #child: ChildProcess;
  readonly #channel: Duplex;
  #out: Buffer[] = [];
  #isFlushing = false;
  readonly #gone = Promise.withResolvers<void>();
  #isGone = false;
  #isBroken = false;
  #isStopping = false;
  #fault: string | undefined;

  constructor(config: PythonProcessConfig) {
    this.#config = config;
    const { interpreter } = config;
    this.#child = spawn(interpreter.command, ['-u', script], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, ...interpreter.environment, PYTHONDONTWRITEBYTECODE: '1' },
    });
    this.#channel = channelOf(this.#child);
    this.#listen();
  }

  /** Sends one message, with all others of this turn of the event loop. */
  send(frame: Frame): void {
    const bytes = Buffer.allocUnsafe(frameBytes);
    writeFrame(bytes, 0, frame);
    this.#out.push(bytes);
    this.#flushSoon();
  }

  sendText(kind: number, id: number, text: string, rest: Partial<Frame> = {}): void {
    const payload = Buffer.from(text);
    const frame = { ...noFields, ...rest, kind, id, length: payload.byteLength };
    this.send({ ...frame, flags: frame.flags | frameFlags.inline });
    this.#out.push(payload);
  }

  /** Ends it, and what it has started, at once. */
  kill(): void {
    if (!this.#isGone) killGroup(this.#child);
  }

  /** From now on its end is no death. Killed when it is there still after `limitMs`; 0 for at once. */
  endWithin(limitMs: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    if (this.#isGone) return;
    if (limitMs === 0) this.kill();
    const timer = machineScheduler.schedule(() => {
      if (limitMs === 0) return;
      this.#config.log.warning(`model instance '${this.#config.name}' did not stop within ${limitMs / 1000} s: its process is killed`);
      this.kill();
    }, limitMs);
    trackEnding(this.#gone.promise.finally(() => timer.unsubscribe()));
  }

  #listen(): void {
    const { log, name, onFrame } = this.#config;
    const read = frameReader(onFrame);
    this.#channel.on('data', (chunk: Buffer) => {
      if (this.#isBroken) return;
      try {
        read(chunk);
      } catch (error) {
        this.#isBroken = true;
        this.#fault ??= `it said what cannot be understood: ${error instanceof Error ? error.message : String(error)}`;
        this.kill();
      }
    });
    // A write to a process that has just ended; the end itself is told by the process.
    this.#channel.on('error', () => undefined);
    this.#print(this.#child.stdout, (line) => log.info(`${name}: ${line}`));
    this.#print(this.#child.stderr, (line) => log.warning(`${name}: ${line}`));
    this.#child.once('error', (error) => {
      this.#fault ??= error.message;
      if (this.#child.pid === undefined) this.#end(undefined);
    });
    this.#child.once('exit', (code, signal) => {
      this.#fault ??= signal === null ? `it ended with status ${code}` : `it was ended by ${signal}`;
      // What it had started would hold its pipes open.
      killGroup(this.#child);
      this.#endWhenRead(code ?? undefined);
    });
  }

  #print(stream: Readable | null, onLine: (line: string) => void): void {
    if (stream === null) return;
    const { write, end } = outputLines(onLine);
    const readRest = readGently(stream, write, machineScheduler);
    stream.once('end', end);
    this.#child.once('exit', readRest);
  }

  /** What it said last may still lie in the pipe. A program of its that left the group could hold that open for ever. */
  #endWhenRead(status: number | undefined): void {
    const end = (): void => {
      timer.unsubscribe();
      this.#end(status);
    };
    const timer = machineScheduler.schedule(end, longestReadMs);
    if (this.#channel.closed) end();
    else this.#channel.once('close', end);
    const later = machineScheduler.schedule(() => {
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
    }, longestReadMs);
    this.#child.once('close', () => later.unsubscribe());
  }

  #end(status: number | undefined): void {
    if (this.#isGone) return;
    this.#isGone = true;
    unlinkMemory(this.#config.memoryPrefix);
    this.#channel.destroy();
    this.#config.onEnd({ reason: this.#fault ?? 'it ended', status, wasTold: this.#isStopping });
    this.#gone.resolve();
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    process.nextTick(() => {
      this.#isFlushing = false;
      const out = this.#out;
      this.#out = [];
      if (this.#isGone) return;
      this.#channel.write(out.length === 1 && out[0] !== undefined ? out[0] : Buffer.concat(out));
    });
  }
}

export const noFields: Frame = { kind: 0, flags: 0, segment: 0, id: 0, block: 0, freed: 0, offset: 0, length: 0 };

const channelOf = ({ stdio }: ChildProcess): Duplex => {
  const channel = stdio[channelFd];
  if (!(channel instanceof Duplex)) throw new Error('a child process has no pipe to speak through');
  return channel;
};

const killGroup = (child: ChildProcess): void => {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody of the group is left, unless it has gone over to another one.
    child.kill('SIGKILL');
  }
};

/** Names of memory that one side had made and the other not yet seen. */
const unlinkMemory = (prefix: string): void => {
  for (const name of readdirSync('/dev/shm')) if (name.startsWith(prefix)) unlinkSync(join('/dev/shm', name));
};
