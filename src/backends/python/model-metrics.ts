import type { CustomMetric, CustomMetricFamily, CustomMetricKind, CustomMetrics } from '../../streams/inference/custom-metrics.ts';
import { InferError } from '../../streams/inference/error.ts';

const changes = { increment: 0, set: 1, observe: 2 } as const;

/** Metrics that one process has made, by numbers that it knows them by. They go with it. */
export class ModelMetrics {
  readonly #metrics: CustomMetrics;
  readonly #families: (CustomMetricFamily | undefined)[] = [];
  readonly #series: (CustomMetric | undefined)[] = [];

  constructor(metrics: CustomMetrics) {
    this.#metrics = metrics;
  }

  /** @throws InferError */
  makeFamily(name: string, description: string, kind: CustomMetricKind): number {
    return this.#families.push(this.#metrics.family(name, description, kind)) - 1;
  }

  /** @throws InferError */
  makeSeries(family: number, labels: Readonly<Record<string, string>>, buckets: readonly number[] | undefined): number {
    const made = this.#families[family];
    if (made === undefined) throw new InferError('INTERNAL', 'the metric family has been deleted');
    return this.#series.push(made.series(labels, buckets)) - 1;
  }

  /** @throws InferError */
  change(series: number, what: number, value: number): void {
    const metric = this.#series[series];
    if (metric === undefined) return;
    if (what === changes.increment) metric.increment(value);
    else if (what === changes.set) metric.set(value);
    else metric.observe(value);
  }

  /** @throws InferError */
  value(series: number): number {
    const metric = this.#series[series];
    if (metric === undefined) throw new InferError('INTERNAL', 'the metric has been deleted');
    return metric.value();
  }

  removeFamily(family: number): void {
    this.#families[family]?.remove();
    this.#families[family] = undefined;
  }

  removeSeries(series: number): void {
    this.#series[series]?.remove();
    this.#series[series] = undefined;
  }

  removeAll(): void {
    for (let series = 0; series < this.#series.length; series++) this.removeSeries(series);
    for (let family = 0; family < this.#families.length; family++) this.removeFamily(family);
  }
}
