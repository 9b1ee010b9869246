import type { CustomMetricKind } from '../../streams/inference/custom-metrics.ts';
import { givenMetric, givenNumber } from './given-metric.ts';
import { MessageMarks } from './message-marks.ts';
import type { ModelCounter, ModelGauge, ModelHistogram, ModelMetrics } from './model-context.ts';
import { ModelError } from './model-module.ts';
import type { Questions } from './questions.ts';
import type { FromWorker, MetricUpdate } from './worker-protocol.ts';

/** Updates that are gathered before they are sent without waiting for the end of the tick. */
const mostUpdates = 1000;

/** Messages with so many that may be on their way to the main thread. */
const mostMessages = 8;

type Labels = Readonly<Record<string, string>>;

/**
 * Metrics that a model makes: the main thread has them, and hears of what changes once a tick. What a loop does to one counter or gauge is one change. A model
 * that observes faster than the main thread reads stops until that has read.
 */
export class WorkerMetrics implements ModelMetrics {
  readonly #post: (message: FromWorker) => void;
  readonly #questions: Questions;
  readonly #marks: MessageMarks;
  #updates: MetricUpdate[] = [];
  /** Where the last change of each metric stands among the updates. */
  readonly #lastOf: (number | undefined)[] = [];

  constructor(post: (message: FromWorker) => void, questions: Questions, marks: SharedArrayBuffer) {
    this.#post = post;
    this.#questions = questions;
    this.#marks = new MessageMarks(marks);
  }

  async counter(name: string, description: string, labels: Labels = {}): Promise<ModelCounter> {
    const metric = await this.#make('counter', name, description, labels);
    return {
      increment: (by = 1) => {
        const step = givenNumber(name, 'a step', by);
        if (!(step >= 0)) throw new ModelError(`counter '${name}' cannot be incremented by ${step}`);
        this.#update(metric, 'increment', step);
      },
      value: () => this.#value(metric),
    };
  }

  async gauge(name: string, description: string, labels: Labels = {}): Promise<ModelGauge> {
    const metric = await this.#make('gauge', name, description, labels);
    return {
      set: (value) => this.#update(metric, 'set', givenNumber(name, 'a value', value)),
      increment: (by = 1) => this.#update(metric, 'increment', givenNumber(name, 'a step', by)),
      value: () => this.#value(metric),
    };
  }

  async histogram(name: string, description: string, buckets: readonly number[], labels: Labels = {}): Promise<ModelHistogram> {
    const metric = await this.#make('histogram', name, description, labels, buckets);
    return { observe: (value) => this.#update(metric, 'observe', givenNumber(name, 'a value', value)) };
  }

  async #make(kind: CustomMetricKind, name: string, description: string, labels: Labels, buckets?: readonly number[]): Promise<number> {
    const given = givenMetric({ name, description, labels, buckets });
    return Number(await this.#questions.ask((question) => this.#post({ kind: 'make-metric', question, metric: kind, ...given })));
  }

  async #value(metric: number): Promise<number> {
    this.#flush();
    return Number(await this.#questions.ask((question) => this.#post({ kind: 'ask-metric', question, metric })));
  }

  #update(metric: number, what: MetricUpdate[1], value: number): void {
    const place = this.#lastOf[metric];
    const last = place === undefined ? undefined : this.#updates[place];
    if (place !== undefined && last !== undefined && last[1] === what && what !== 'observe') {
      const together = what === 'increment' ? last[2] + value : value;
      // What is no number is refused, and it alone.
      if (!Number.isNaN(together) && !Number.isNaN(last[2])) {
        this.#updates[place] = [metric, what, together];
        return;
      }
    }
    this.#lastOf[metric] = this.#updates.length;
    if (this.#updates.push([metric, what, value]) === 1) setImmediate(() => this.#flush());
    else if (this.#updates.length >= mostUpdates) this.#flush();
  }

  #flush(): void {
    if (this.#updates.length === 0) return;
    this.#marks.waitUntilFewer(mostMessages);
    this.#marks.sent();
    this.#post({ kind: 'metric-updates', updates: this.#updates });
    this.#updates = [];
    this.#lastOf.length = 0;
  }
}
