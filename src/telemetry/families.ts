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

const register = (registry: Registry, family: Family): void => {
  if (family.kind === 'histogram') {
    registry.registerMetric(new CountedHistogram(family));
    return;
  }
  const { name, help, samples } = family;
  const labelNames = [...new Set(samples.flatMap(({ labels }) => Object.keys(labels)))];
  if (family.kind === 'counter') {
    const counter = new Counter({ name, help, labelNames, registers: [registry] });
    for (const { labels, value } of samples) counter.inc(labels, value);
    return;
  }
  const gauge = new Gauge({ name, help, labelNames, registers: [registry] });
  for (const { labels, value } of samples) gauge.set(labels, value);
};

/**
 * Prometheus text 0.0.4. A family without samples is left out, its HELP and TYPE lines too, as Triton does. The registry lives for one
 * rendering: nothing has to be taken back when a model goes, and servers in one process share nothing.
 */
export const renderFamilies = (families: readonly Family[]): Promise<string> => {
  const registry = new Registry();
  for (const family of families) if (family.samples.length > 0) register(registry, family);
  return registry.metrics();
};
