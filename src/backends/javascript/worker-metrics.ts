import type { CustomMetricKind } from '../../streams/inference/custom-metrics.ts';
import type { ModelCounter, ModelGauge, ModelHistogram, ModelMetrics } from './model-context.ts';
import { ModelError } from './model-module.ts';
import type { Questions } from './questions.ts';
import type { FromWorker, MetricUpdate } from './worker-protocol.ts';

/** Updates that are gathered before they are sent without waiting for the end of the tick. */
const mostUpdates = 1000;

type Labels = Readonly<Record<string, string>>;

/** Metrics that a model makes: the main thread has them, and hears of what changes once a tick. */
export class WorkerMetrics implements ModelMetrics {
  readonly #post: (message: FromWorker) => void;
  readonly #questions: Questions;
  #updates: MetricUpdate[] = [];

  constructor(post: (message: FromWorker) => void, questions: Questions) {
    this.#post = post;
    this.#questions = questions;
  }

  async counter(name: string, description: string, labels: Labels = {}): Promise<ModelCounter> {
    const metric = await this.#make('counter', name, description, labels);
    return {
      increment: (by = 1) => {
        if (!(by >= 0)) throw new ModelError(`counter '${name}' cannot be incremented by ${by}`, 'INVALID_ARGUMENT');
        this.#update([metric, 'increment', by]);
      },
      value: () => this.#value(metric),
    };
  }

  async gauge(name: string, description: string, labels: Labels = {}): Promise<ModelGauge> {
    const metric = await this.#make('gauge', name, description, labels);
    return {
      set: (value) => this.#update([metric, 'set', value]),
      increment: (by = 1) => this.#update([metric, 'increment', by]),
      value: () => this.#value(metric),
    };
  }

  async histogram(name: string, description: string, buckets: readonly number[], labels: Labels = {}): Promise<ModelHistogram> {
    const metric = await this.#make('histogram', name, description, labels, buckets);
    return { observe: (value) => this.#update([metric, 'observe', value]) };
  }

  async #make(metric: CustomMetricKind, name: string, description: string, labels: Labels, buckets?: readonly number[]): Promise<number> {
    const made = this.#questions.ask((question) =>
      this.#post({ kind: 'make-metric', question, name, description, metric, labels: { ...labels }, buckets }),
    );
    return Number(await made);
  }

  async #value(metric: number): Promise<number> {
    this.#flush();
    return Number(await this.#questions.ask((question) => this.#post({ kind: 'ask-metric', question, metric })));
  }

  #update(update: MetricUpdate): void {
    if (this.#updates.push(update) === 1) setImmediate(() => this.#flush());
    else if (this.#updates.length >= mostUpdates) this.#flush();
  }

  #flush(): void {
    if (this.#updates.length === 0) return;
    this.#post({ kind: 'metric-updates', updates: this.#updates });
    this.#updates = [];
  }
}
