import { openSync } from 'node:fs';
import type { Log } from '../streams/inference/log.ts';
import type { LogWriter } from './log-writer.ts';
import { createLogWriter } from './log-writer.ts';
import type { LogFormat } from './timestamps.ts';
import { createFineClock, lineHead } from './timestamps.ts';

export interface LogConfig {
  /** `--log-verbose`: messages up to this level are written. */
  readonly verbose: number;
  readonly info: boolean;
  readonly warning: boolean;
  readonly error: boolean;
  readonly format: LogFormat;
  /** Appended to. Undefined for the console: information to stdout, warnings and errors to stderr. */
  readonly file?: string | undefined;
}

export interface ServerLog extends Log {
  /**
   * The same log for one part of the server. Its name stands where Triton has file and line: `http:0]`. The line is always 0, since finding it
   * costs a stack trace; it stays for the sake of programs that take Triton's lines apart.
   */
  named(part: string): Log;
  /** One information entry: a heading, then the lines of a table as they are. */
  table(heading: string, lines: readonly string[]): void;
  /** Writes what waits before it returns. */
  flush(): void;
  /** Resolves once all is written. The console's descriptors stay open. */
  close(): Promise<void>;
}

/** What may wait for a slow reader of the log. */
const limitBytes = 1 << 20;

/** Separators and controls that JSON leaves as they are, though some readers of logs end a line there. */
const unquoted = /[\u007f-\u009f\u2028\u2029]/g;

const escapeCode = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A message as one quoted line, so that nothing a client sends (a request id with a newline) can look like an entry of its own. */
export const quoteMessage = (message: string): string => JSON.stringify(message).replace(unquoted, escapeCode);

/**
 * Triton's log lines: `I0520 20:03:25.829575 123 http:0] "Started HTTPService at 0.0.0.0:8000"`. Verbose messages have the letter I.
 * Lines are written off the event loop and not lost when the process exits.
 *
 * @throws the file system's error when `file` cannot be opened
 */
export const createLog = (config: LogConfig): ServerLog => {
  const now = createFineClock();

  const head = (letter: string, part: string): string => `${lineHead(config.format, letter, now(), process.pid)} ${part}:0] `;
  const droppedLine = (count: number): string =>
    `${head('W', 'log')}${quoteMessage(`${count} log lines dropped: their reader is too slow`)}\n`;
  const open = (descriptor: number): LogWriter => createLogWriter({ descriptor, limitBytes, droppedLine });

  const file = config.file === undefined ? undefined : open(openSync(config.file, 'a'));
  const out = file ?? open(process.stdout.fd);
  const problems = file ?? open(process.stderr.fd);
  const writers = new Set([out, problems]);

  const named = (part: string): Log => {
    const write = (writer: LogWriter, letter: string, message: string): void =>
      writer.write(`${head(letter, part)}${quoteMessage(message)}\n`);
    return {
      error: (message) => {
        if (config.error) write(problems, 'E', message);
      },
      warning: (message) => {
        if (config.warning) write(problems, 'W', message);
      },
      info: (message) => {
        if (config.info) write(out, 'I', message);
      },
      verbose: (level, message) => {
        if (level <= config.verbose) write(out, 'I', message);
      },
    };
  };

  return {
    ...named('weir'),
    named,
    table: (heading, lines) => {
      if (config.info) out.write(`${head('I', 'weir')}${quoteMessage(heading)}\n${lines.map((line) => `${line}\n`).join('')}`);
    },
    flush: () => {
      for (const writer of writers) writer.flush();
    },
    close: async () => {
      await Promise.all([...writers].map((writer) => writer.close()));
    },
  };
};
