/** What the command line says; each bench has its own default for what is left out. */
export interface BenchOptions {
  /** Pairs of blocks. */
  readonly rounds: number | undefined;
  /** Measured in each block. */
  readonly seconds: number | undefined;
  /** Of the soak. */
  readonly minutes: number | undefined;
  /** Protocols, or workloads of the peers; empty for all. */
  readonly only: readonly string[];
}

export interface BenchResult {
  /** For `RESULTS.md`, from its heading on; undefined for nothing to record. */
  readonly section: string | undefined;
  /** Why it failed; empty for a bench that only measures. */
  readonly faults: readonly string[];
}

/** One of several measurements of a bench. */
export interface BenchPart {
  readonly text: string;
  readonly faults: readonly string[];
}

export interface Bench {
  /** Whether `npm run bench` without names runs it. */
  readonly isDefault: boolean;
  readonly about: string;
  run(options: BenchOptions): Promise<BenchResult>;
}
