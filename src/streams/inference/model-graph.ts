/**
 * What one stage of a model's graph holds and has let through. Read when somebody asks; a stage keeps the numbers itself.
 * `in = out + failed + queued + running` at every moment.
 */
export interface StageCounters {
  readonly name: string;
  readonly in: number;
  readonly out: number;
  readonly failed: number;
  /** Waiting now. */
  readonly queued: number;
  /** Running now. */
  readonly running: number;
  /** How many may wait; 0 where nothing waits. */
  readonly limit: number;
}

/** The instances of a model, for gauges. */
export interface InstanceCounters {
  readonly total: number;
  readonly alive: number;
  /** Batches that they run now. */
  readonly busy: number;
}

/** A running model as data: its stages from entry to exit. */
export interface ModelGraph {
  readonly model: string;
  readonly version: string;
  readonly stages: readonly StageCounters[];
  readonly instances: InstanceCounters;
}
