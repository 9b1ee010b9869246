import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads';
import { trackEnding } from './workers-stopped.ts';

export interface StoppableWorkerConfig<FromWorker> {
  readonly script: URL;
  /** Shown by debuggers and profilers. */
  readonly name: string;
  readonly data: unknown;
  /** Of its heap; Node's own where it is left out. */
  readonly limits?: ResourceLimits;
  /** Called within the event that brings the message. */
  readonly onMessage: (message: FromWorker) => void;
  /** The thread ended by itself: once, with what is known of why. */
  readonly onDeath: (reason: Error) => void;
}

/**
 * A worker thread that is ended only outside native code. Ending a thread inside it aborts the whole process when that code comes back to
 * JavaScript that is gone; so whoever sends work that enters native code says so with `enter`, and `leave` once the answer is there.
 *
 * After `stop` the thread is ended at once, or with the last `leave`; that wait has no limit, since nothing can break such a call off.
 * `kill` does not wait: for a thread in a loop of JavaScript that does not end. `workersStopped` tells when it is over.
 */
export class StoppableWorker<ToWorker, FromWorker> {
  readonly #worker: Worker;
  readonly #gone: Promise<void>;
  #inside = 0;
  #isStopping = false;
  #isEnding = false;

  constructor({ script, name, data, limits, onMessage, onDeath }: StoppableWorkerConfig<FromWorker>) {
    let failure: Error | undefined;
    this.#worker = new Worker(script, { name, workerData: data, ...(limits === undefined ? {} : { resourceLimits: limits }) });
    this.#worker.on('message', onMessage);
    this.#worker.on('error', (error: unknown) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    this.#gone = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        const isDeath = !this.#isEnding;
        this.#isEnding = true;
        resolve();
        if (isDeath) onDeath(failure ?? new Error(`its worker ended with code ${code}`));
      });
    });
  }

  /** A message to a thread that has ended is lost; its death is reported. */
  post(message: ToWorker, transfer?: readonly Transferable[]): void {
    this.#worker.postMessage(message, transfer);
  }

  enter(): void {
    this.#inside++;
  }

  leave(): void {
    this.#inside--;
    this.#endWhenOutside();
  }

  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    if (!this.#isEnding) trackEnding(this.#gone);
    this.#endWhenOutside();
  }

  /** Ends it wherever it is. Native code that it is inside of may take the process with it. */
  kill(): void {
    this.stop();
    this.#end();
  }

  #endWhenOutside(): void {
    if (this.#isStopping && this.#inside <= 0) this.#end();
  }

  #end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    void this.#worker.terminate();
  }
}
