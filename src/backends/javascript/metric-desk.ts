import { toInferError } from '../../streams/inference/error.ts';
import type { HeldMetric, MetricTable } from './metric-table.ts';
import type { FromWorker, MetricMade, MetricUpdate, ToWorker } from './worker-protocol.ts';

type Asked = Extract<FromWorker, { readonly kind: 'ask-metric' }>;

export interface MetricDeskConfig {
  readonly table: MetricTable;
  readonly post: (message: ToWorker) => void;
  /** An update that was refused, with why. */
  readonly onRefused: (reason: string) => void;
}

/** The metrics of one instance: the worker names them by their number here. */
export class MetricDesk {
  readonly #config: MetricDeskConfig;
  readonly #held: HeldMetric[] = [];

  constructor(config: MetricDeskConfig) {
    this.#config = config;
  }

  make(message: MetricMade): void {
    this.#reply(message.question, () => {
      const held = this.#config.table.hold(message);
      const known = this.#held.findIndex(({ metric }) => metric === held.metric);
      if (known === -1) return this.#held.push(held) - 1;
      held.release();
      return known;
    });
  }

  ask({ question, metric }: Asked): void {
    this.#reply(question, () => this.#held[metric]?.metric.value() ?? 0);
  }

  update(updates: readonly MetricUpdate[]): void {
    for (const [number, what, value] of updates) {
      try {
        const metric = this.#held[number]?.metric;
        if (what === 'increment') metric?.increment(value);
        else if (what === 'set') metric?.set(value);
        else metric?.observe(value);
      } catch (error) {
        this.#config.onRefused(toInferError(error).message);
      }
    }
  }

  /** The worker is gone. */
  close(): void {
    for (const { release } of this.#held.splice(0)) release();
  }

  #reply(question: number, answer: () => number): void {
    try {
      this.#config.post({ kind: 'reply', question, value: answer(), error: undefined });
    } catch (error) {
      // What a model does wrong with its metrics is no fault of who asked it.
      this.#config.post({ kind: 'reply', question, value: 0, error: { code: 'INTERNAL', message: toInferError(error).message } });
    }
  }
}
