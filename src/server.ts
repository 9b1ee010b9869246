import { compose, type RunningServer } from './server/compose.ts';
import { ModelHandle } from './server/model-handle.ts';
import { openLog } from './server/open-log.ts';
import { type ServerOptions, settingsOf } from './server/options.ts';
import type { ModelIndexEntry, ServerMetadata } from './streams/inference/data-plane.ts';
import { InferError } from './streams/inference/error.ts';
import type { ModelGraph } from './streams/inference/model-graph.ts';
import type { ModelStatistics } from './streams/inference/statistics.ts';
import type { ServerLog } from './telemetry/log.ts';

/** Ports that a server listens at; undefined for what it does not serve. */
export interface Ports {
  readonly http: number | undefined;
  readonly grpc: number | undefined;
  readonly metrics: number | undefined;
}

/** A server inside this program. */
export class Server {
  readonly #running: RunningServer;
  readonly #log: ServerLog;
  #closing: Promise<void> | undefined;

  private constructor(running: RunningServer, log: ServerLog) {
    this.#running = running;
    this.#log = log;
  }

  /**
   * Loads every model and opens the ports that were asked for. Rejects with a StartError when a model does not load, unless `models.exitOnError` is
   * false, and when a port cannot be had; nothing is left then of what had started.
   */
  static async start(options: ServerOptions): Promise<Server> {
    const settings = settingsOf(options);
    const log = openLog(settings.log);
    try {
      return new Server(await compose({ settings, log, signal: options.signal ?? new AbortController().signal }), log);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  get ports(): Ports {
    const port = (kind: keyof Ports): number | undefined => this.#running.frontEnds.find((each) => each.kind === kind)?.port;
    return { http: port('http'), grpc: port('grpc'), metrics: port('metrics') };
  }

  /** A handle, made without a look whether there is such a model. `version` `''` is the newest that is ready at each call. */
  model(name: string, version = ''): ModelHandle {
    return new ModelHandle(this.#running.dataPlane, name, version);
  }

  isReady(): boolean {
    return this.#running.dataPlane.isReady();
  }

  metadata(): ServerMetadata {
    return this.#running.dataPlane.serverMetadata();
  }

  /** Every model of the repositories, also those that did not load, with the reason. */
  index(): Promise<readonly ModelIndexEntry[]> {
    return this.#running.dataPlane.index(false);
  }

  statistics(): Promise<readonly ModelStatistics[]> {
    return this.#running.dataPlane.statistics('', '');
  }

  /** Stages and gauges of every model that is ready. */
  graphs(): readonly ModelGraph[] {
    return this.#running.dataPlane.graphs();
  }

  /** The text of a scrape, in the format of Prometheus. */
  metrics(): Promise<string> {
    return this.#running.metrics.render();
  }

  /**
   * Refuses new work, lets work in flight end, and frees everything. Rejects with an InferError of code INTERNAL when that took longer than
   * `exitTimeoutSeconds` and was cut off. Calling it again answers the same promise.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { inTime } = await this.#running.close();
    await this.#log.close();
    if (!inTime) throw new InferError('INTERNAL', 'Exit timeout expired. Exiting immediately.');
  }
}
