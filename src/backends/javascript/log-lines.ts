import { MessageMarks } from './message-marks.ts';
import { readable } from './wire-error.ts';
import type { FromWorker, LogLine } from './worker-protocol.ts';

/** Lines that may be on their way to the main thread. */
const mostLines = 1000;

const longestLine = 16_384;

/** The worker's way to the log. A thousand lines may wait for the main thread; what is more is dropped, and a line says how much it was. */
export class LogLines {
  readonly #post: (message: FromWorker & LogLine) => void;
  readonly #marks: MessageMarks;
  #dropped = 0;

  constructor(shared: SharedArrayBuffer, post: (message: FromWorker & LogLine) => void) {
    this.#marks = new MessageMarks(shared);
    this.#post = post;
  }

  /** @param given what is no text is shown as the console shows it */
  write(severity: LogLine['severity'], given: unknown): void {
    if (this.#marks.waiting >= mostLines) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) {
      const dropped = this.#dropped;
      this.#dropped = 0;
      this.#send('warning', `${dropped} lines of the log were dropped`);
    }
    const text = readable(given);
    this.#send(severity, text.length > longestLine ? `${text.slice(0, longestLine)}…` : text);
  }

  /** What is printed to a stream of this thread becomes lines, console included. */
  capture(stream: NodeJS.WriteStream, severity: LogLine['severity']): void {
    let rest = '';
    process.once('exit', () => {
      if (rest !== '') this.write(severity, rest);
    });
    stream.write = (chunk: string | Uint8Array, encodingOrDone?: unknown, done?: unknown): boolean => {
      const lines = (rest + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) {
        lines.push(rest);
        rest = '';
      }
      for (const line of lines) this.write(severity, line);
      const callback = typeof encodingOrDone === 'function' ? encodingOrDone : done;
      if (typeof callback === 'function') process.nextTick(callback);
      return true;
    };
  }

  #send(severity: LogLine['severity'], text: string): void {
    this.#marks.sent();
    this.#post({ kind: 'log', severity, text });
  }
}
