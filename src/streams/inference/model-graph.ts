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
  /** Of an ensemble's step. */
  readonly model?: StageModel;
}

/** What goes from one stage to another; `request` and `response` are the ends. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** Of an ensemble: the tensor. */
  readonly tensor?: string;
}

/** Which model a stage of an ensemble asks. */
export interface StageModel {
  readonly name: string;
  /** Decimal digits; `''` for the newest version that is ready. */
  readonly version: string;
}

/** The instances of a model, for gauges. */
export interface InstanceCounters {
  readonly total: number;
  readonly alive: number;
  /** Batches that they run now. */
  readonly busy: number;
}

/**
 * What waits elsewhere than in a stage, such as a batch for its share of a resource or an answer for its turn; and parts of what waits in one: a level, slots, the
 * backlog. Requests are counted in the stages.
 */
export interface QueueGauge {
  readonly name: string;
  /** Waiting now. */
  readonly queued: number;
  /** How many may wait. */
  readonly limit: number;
}

/** Requests of warm-up samples, of all instances and lives: `in = out + failed + running` at every moment. Users' statistics leave them out. */
export interface WarmUpCounters {
  in: number;
  out: number;
  failed: number;
  running: number;
}

/** A running model as data: its stages from entry to exit, or the steps of an ensemble. */
export interface ModelGraph {
  readonly model: string;
  readonly version: string;
  readonly stages: readonly StageCounters[];
  readonly edges: readonly GraphEdge[];
  /** Absent for a model without any. */
  readonly queues?: readonly QueueGauge[];
  /** Absent for a model without samples. */
  readonly warmUp?: Readonly<WarmUpCounters>;
  readonly instances: InstanceCounters;
}
