import type { CustomMetric, CustomMetricFamily, CustomMetricKind, CustomMetrics } from '../../streams/inference/custom-metrics.ts';
import type { MetricMade } from './worker-protocol.ts';

interface Series {
  readonly metric: CustomMetric;
  /** Instances that have asked for it. */
  users: number;
}

interface Family {
  readonly family: CustomMetricFamily;
  readonly series: Map<string, Series>;
}

/** A series in the hands of one instance. */
export interface HeldMetric {
  readonly metric: CustomMetric;
  /** The instance has no more use for it: with the last one it goes, and with the last series its family. */
  release(): void;
}

const labelsKey = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));

/** The metrics that models have made, shared by all instances of a backend. */
export class MetricTable {
  readonly #metrics: CustomMetrics;
  readonly #families = new Map<string, Family>();

  constructor(metrics: CustomMetrics) {
    this.#metrics = metrics;
  }

  /** @throws InferError for a name or labels that cannot be */
  hold({ name, description, metric: kind, labels, buckets }: MetricMade): HeldMetric {
    const known = this.#familyOf(name, description, kind);
    const key = labelsKey(labels);
    try {
      const series = known.series.get(key) ?? { metric: known.family.series(labels, buckets), users: 0 };
      series.users++;
      known.series.set(key, series);
      return { metric: series.metric, release: () => this.#release(name, key) };
    } finally {
      this.#forgetEmpty(name, known);
    }
  }

  /** @throws InferError for another kind or description than a family of that name has */
  #familyOf(name: string, description: string, kind: CustomMetricKind): Family {
    const asked = this.#metrics.family(name, description, kind);
    const known = this.#families.get(name);
    // Asked to be checked, and held once.
    if (known !== undefined) {
      asked.remove();
      return known;
    }
    const family: Family = { family: asked, series: new Map() };
    this.#families.set(name, family);
    return family;
  }

  #release(name: string, key: string): void {
    const known = this.#families.get(name);
    const series = known?.series.get(key);
    if (known === undefined || series === undefined) return;
    series.users--;
    if (series.users > 0) return;
    series.metric.remove();
    known.series.delete(key);
    this.#forgetEmpty(name, known);
  }

  #forgetEmpty(name: string, { family, series }: Family): void {
    if (series.size > 0) return;
    family.remove();
    this.#families.delete(name);
  }
}
