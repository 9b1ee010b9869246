import type { CustomMetric, CustomMetricFamily, CustomMetricKind, CustomMetrics } from '../streams/inference/custom-metrics.ts';
import { InferError } from '../streams/inference/error.ts';
import type { Distribution, Family } from './families.ts';

/** Over all models: what their code makes without end must not grow the server. */
const mostSeries = 10_000;

const names = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const labelNames = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
/** The server's own. */
const reserved = /^(nv|weir)_/;

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Upper bounds of a histogram, ascending; the last is infinity. */
  readonly bounds: readonly number[];
  /** Of a histogram, by bound. */
  readonly counts: Map<number, number>;
  value: number;
  holders: number;
}

interface Known {
  readonly name: string;
  readonly description: string;
  readonly kind: CustomMetricKind;
  readonly series: Map<string, Series>;
  holders: number;
}

const refuse = (code: 'INVALID_ARGUMENT' | 'ALREADY_EXISTS' | 'UNAVAILABLE', text: string): InferError => new InferError(code, text);

/** @throws InferError */
const requireKind = (known: Known, kinds: readonly CustomMetricKind[], what: string): void => {
  if (!kinds.includes(known.kind))
    throw refuse('INVALID_ARGUMENT', `metric '${known.name}' is a ${known.kind}, which does not support ${what}`);
};

/** @throws InferError */
const requireNumber = (known: Known, value: number): void => {
  if (Number.isNaN(value)) throw refuse('INVALID_ARGUMENT', `metric '${known.name}' was given no number`);
};

class SeriesHandle implements CustomMetric {
  readonly #known: Known;
  readonly #series: Series;
  readonly #onRemoved: () => void;
  #isHeld = true;

  constructor(known: Known, series: Series, onRemoved: () => void) {
    this.#known = known;
    this.#series = series;
    this.#onRemoved = onRemoved;
  }

  increment(by: number): void {
    requireKind(this.#known, ['counter', 'gauge'], 'increment');
    requireNumber(this.#known, by);
    if (this.#known.kind === 'counter' && by < 0) {
      throw refuse('INVALID_ARGUMENT', `metric '${this.#known.name}' is a counter, which can only be increased, got ${by}`);
    }
    this.#series.value += by;
  }

  set(value: number): void {
    requireKind(this.#known, ['gauge'], 'set');
    requireNumber(this.#known, value);
    this.#series.value = value;
  }

  observe(value: number): void {
    requireKind(this.#known, ['histogram'], 'observe');
    requireNumber(this.#known, value);
    const { bounds, counts } = this.#series;
    const bound = bounds.find((each) => value <= each) ?? Number.POSITIVE_INFINITY;
    counts.set(bound, (counts.get(bound) ?? 0) + 1);
    this.#series.value += value;
  }

  value(): number {
    requireKind(this.#known, ['counter', 'gauge'], 'value');
    return this.#series.value;
  }

  remove(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#onRemoved();
  }
}

const keyOf = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const toFamily = ({ name, description: help, kind, series }: Known): Family => {
  const all = [...series.values()];
  if (kind !== 'histogram') return { kind, name, help, samples: all.map(({ labels, value }) => ({ labels, value })) };
  const samples = all.map(({ labels, bounds, counts, value }): Distribution => ({ labels, counts, sum: value, buckets: bounds }));
  return { kind, name, help, buckets: [], samples };
};

/** Metrics that the code of models makes. A family, or a series, is there as long as one of those who asked for it has not removed it. */
export class ModelMetrics implements CustomMetrics {
  readonly #families = new Map<string, Known>();
  #series = 0;

  family(name: string, description: string, kind: CustomMetricKind): CustomMetricFamily {
    if (!names.test(name)) throw refuse('INVALID_ARGUMENT', `'${name}' is no name of a metric`);
    if (reserved.test(name))
      throw refuse('ALREADY_EXISTS', `metric '${name}' has a name of the server's own: they begin with nv_ and weir_`);
    const known: Known = this.#families.get(name) ?? { name, description, kind, series: new Map(), holders: 0 };
    if (known.kind !== kind || known.description !== description) {
      throw refuse('ALREADY_EXISTS', `metric '${name}' is a ${known.kind} already: ${known.description}`);
    }
    known.holders++;
    this.#families.set(name, known);
    const own = new Set<CustomMetric>();
    let isHeld = true;
    return {
      series: (labels, buckets) => {
        const made = this.#hold(known, labels, buckets);
        own.add(made);
        return made;
      },
      remove: () => {
        if (!isHeld) return;
        isHeld = false;
        for (const each of own) each.remove();
        known.holders--;
        if (known.holders === 0) this.#families.delete(name);
      },
    };
  }

  families(): readonly Family[] {
    return [...this.#families.values()].map(toFamily);
  }

  #hold(known: Known, labels: Readonly<Record<string, string>>, buckets: readonly number[] | undefined): CustomMetric {
    if (known.kind === 'histogram' && buckets === undefined)
      throw refuse('INVALID_ARGUMENT', 'Failed to create metric. Missing required buckets.');
    if (known.kind !== 'histogram' && buckets !== undefined)
      throw refuse('INVALID_ARGUMENT', 'Failed to create metric. Unexpected buckets found.');
    const wrong = Object.keys(labels).find((label) => !labelNames.test(label) || label === 'le');
    if (wrong !== undefined) throw refuse('INVALID_ARGUMENT', `'${wrong}' is no label of metric '${known.name}'`);
    const key = keyOf(labels);
    const series = known.series.get(key) ?? this.#open(known, labels, buckets ?? []);
    known.series.set(key, series);
    series.holders++;
    return new SeriesHandle(known, series, () => {
      series.holders--;
      if (series.holders > 0) return;
      known.series.delete(key);
      this.#series--;
    });
  }

  #open(known: Known, labels: Readonly<Record<string, string>>, bounds: readonly number[]): Series {
    if (bounds.some((bound, index) => Number.isNaN(bound) || bound <= (bounds[index - 1] ?? Number.NEGATIVE_INFINITY))) {
      throw refuse('INVALID_ARGUMENT', `buckets of metric '${known.name}' must be ascending, got ${bounds.join(', ')}`);
    }
    if (this.#series >= mostSeries)
      throw refuse('UNAVAILABLE', `models have ${mostSeries} series of metrics already, and may have no more`);
    this.#series++;
    return { labels, bounds, counts: new Map(), value: 0, holders: 0 };
  }
}
