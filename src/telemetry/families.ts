import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Label names in alphabetical order: some scrapers match whole lines of Triton's. */
type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface Distribution {
  readonly labels: Labels;
  /** How often each value has been seen, or, with `sum`, how many values were up to it and above the bound before. */
  readonly counts: ReadonlyMap<number, number>;
  /** Of all values, where `counts` does not tell. */
  readonly sum?: number;
  /** Its own upper bounds, where they are not the family's. */
  readonly buckets?: readonly number[];
}

interface SampleFamily {
  readonly kind: 'counter' | 'gauge';
  readonly name: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

interface HistogramFamily {
  readonly kind: 'histogram';
  readonly name: string;
  readonly help: string;
  /** Upper bounds, ascending, without infinity. */
  readonly buckets: readonly number[];
  readonly samples: readonly Distribution[];
}

export type Family = SampleFamily | HistogramFamily;

/** A gauge with one series. */
export const gauge = (name: string, help: string, value: number): Family => ({
  kind: 'gauge',
  name,
  help,
  samples: [{ labels: {}, value }],
});

type CounterDocument = Awaited<ReturnType<Counter['get']>>;
type GaugeDocument = Awaited<ReturnType<Gauge['get']>>;
type HistogramDocument = Awaited<ReturnType<Histogram['get']>>;

/** A histogram over counts that are kept elsewhere; prom-client's own can only be told one observation after the other. */
class CountedHistogram extends Histogram {
  readonly #family: HistogramFamily;
  readonly #empty: Histogram;

  constructor(family: HistogramFamily) {
    const config = { name: family.name, help: family.help, registers: [] };
    super(config);
    this.#family = family;
    this.#empty = new Histogram(config);
  }

  override async get(): Promise<HistogramDocument> {
    const values = this.#family.samples.flatMap((sample) => this.#values(sample));
    return { ...(await this.#empty.get()), values };
  }

  /** The registry asks for this form where a metric has it, and `Histogram` has. */
  getForPromString(): Promise<HistogramDocument> {
    return this.get();
  }

  #values({ labels, counts, sum: known, buckets = this.#family.buckets }: Distribution): HistogramDocument['values'] {
    const { name } = this.#family;
    let total = 0;
    let sum = 0;
    for (const [value, count] of counts) {
      total += count;
      sum += value * count;
    }
    const upTo = (bound: number): number => {
      let below = 0;
      for (const [value, count] of counts) if (value <= bound) below += count;
      return below;
    };
    return [
      ...buckets.map((le) => ({ labels: { ...labels, le }, value: upTo(le), metricName: `${name}_bucket` })),
      { labels: { ...labels, le: '+Inf' }, value: total, metricName: `${name}_bucket` },
      { labels, value: known ?? sum, metricName: `${name}_sum` },
      { labels, value: total, metricName: `${name}_count` },
    ];
  }
}

// prom-client's own counters and gauges are told each value in turn, take two series for one whose labels look alike when they stand side by side, and
// refuse infinity.
class KnownCounter extends Counter {
  readonly #samples: readonly Sample[];

  constructor({ name, help, samples }: SampleFamily) {
    super({ name, help, registers: [] });
    this.#samples = samples;
  }

  override async get(): Promise<CounterDocument> {
    return { ...(await super.get()), values: [...this.#samples] };
  }
}

class KnownGauge extends Gauge {
  readonly #samples: readonly Sample[];

  constructor({ name, help, samples }: SampleFamily) {
    super({ name, help, registers: [] });
    this.#samples = samples;
  }

  override async get(): Promise<GaugeDocument> {
    return { ...(await super.get()), values: [...this.#samples] };
  }
}

const metricOf = (family: Family): Counter | Gauge | Histogram => {
  // The library wants some text; a model need not have any.
  const described = family.help === '' ? { ...family, help: ' ' } : family;
  if (described.kind === 'histogram') return new CountedHistogram(described);
  return described.kind === 'counter' ? new KnownCounter(described) : new KnownGauge(described);
};

/**
 * Prometheus text 0.0.4. A family without samples is left out, its HELP and TYPE lines too, as Triton does. The registry lives for one
 * rendering: nothing has to be taken back when a model goes, and servers in one process share nothing.
 */
export const renderFamilies = (families: readonly Family[]): Promise<string> => {
  const registry = new Registry();
  for (const family of families) if (family.samples.length > 0) registry.registerMetric(metricOf(family));
  return registry.metrics();
};
