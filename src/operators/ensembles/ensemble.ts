import { InOrder, type OrderCounters } from '../../streams/flow/in-order.ts';
import { WaitingList } from '../../streams/flow/waiting-list.ts';
import { InferError, requestPrefix } from '../../streams/inference/error.ts';
import type { EventSink } from '../../streams/inference/events.ts';
import type { Infer } from '../../streams/inference/infer.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { QueueGauge, StageCounters } from '../../streams/inference/model-graph.ts';
import type { InferRequest, RequestedOutput } from '../../streams/inference/request.ts';
import { copyTensor } from '../../streams/tensors/copy-tensor.ts';
import { answersMany, type EnsembleGraph, type GraphStep } from './ensemble-graph.ts';
import { ensemblePlans, type RunPlan } from './ensemble-plan.ts';
import { type RowAnswer, sizeOf } from './ensemble-row.ts';
import type { EnsembleRun } from './ensemble-run.ts';
import type { EnsembleStepRun } from './ensemble-step-run.ts';
import { type AheadMarks, RowsAhead } from './rows-ahead.ts';
import { StepDesk } from './step-desk.ts';
import type { WaitOrder } from './wait-order.ts';

/** A version of a model as an ensemble uses it. */
export interface StepModel {
  readonly infer: Infer;
  isReady(): boolean;
  /** Until `release` it answers the requests of who holds it. */
  hold(): void;
  release(): void;
}

/** Where the steps of an ensemble find their models, anew for each request. */
export interface StepModels {
  /** `''` for the newest version. @throws InferError when it is not ready */
  find(name: string, version: string): StepModel;
}

export interface EnsembleConfig {
  readonly graph: EnsembleGraph;
  readonly models: StepModels;
  /** Of all ensembles that use these models. */
  readonly waitOrder: WaitOrder;
  /** Requests that may wait for a permit of a step. */
  readonly maxQueueSize: number;
  readonly sink: EventSink;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly epochMs: () => number;
}

/** A step whose config sets no limit may be so many rows ahead. */
const rowsAheadWithoutLimit = 256;
const mostBytesAhead = 8 * 2 ** 20;
const rowsRefused = 16_384;
const bytesRefused = 64 * 2 ** 20;

const keep = ({ outputs, parameters }: RowAnswer): RowAnswer => {
  const copies = new Map([...outputs].map(([name, tensor]) => [name, copyTensor(tensor)] as const));
  return { outputs: copies, parameters };
};

const rowsOf = ({ maxBatchSize }: EnsembleGraph, { inputs }: InferRequest): number => {
  if (maxBatchSize === 0) return 1;
  for (const tensor of inputs.values()) return Math.max(1, tensor.shape[0] ?? 1);
  return 1;
};

/** What the requests of an ensemble share: its graph, the permits of its steps, the steps that are to start. */
export class Ensemble {
  readonly graph: EnsembleGraph;
  readonly models: StepModels;
  readonly planOf: (requested: readonly RequestedOutput[]) => RunPlan;
  readonly #config: EnsembleConfig;
  readonly #marks: AheadMarks;
  /** Of steps that are not told to wait. */
  readonly #endlessMarks: AheadMarks;
  /** By step. */
  readonly #desks: readonly StepDesk<EnsembleStepRun>[];
  readonly #due = new WaitingList<EnsembleStepRun>();
  readonly #runs = new WaitingList<EnsembleRun>();
  #isPumping = false;

  constructor(config: EnsembleConfig) {
    const { graph } = config;
    const limit = graph.maxInflightRequests;
    this.#config = config;
    this.graph = graph;
    this.models = config.models;
    this.planOf = ensemblePlans(graph);
    this.#desks = graph.steps.map(() => new StepDesk(limit));
    this.#marks = {
      pauseRows: limit === 0 ? rowsAheadWithoutLimit : Math.min(2 * limit, rowsRefused / 2),
      pauseBytes: mostBytesAhead,
      refuseRows: rowsRefused,
      refuseBytes: bytesRefused,
    };
    this.#endlessMarks = { ...this.#marks, pauseRows: Number.POSITIVE_INFINITY, pauseBytes: Number.POSITIVE_INFINITY };
  }

  begin(run: EnsembleRun): void {
    run.place = this.#runs.push(run);
    run.begin();
  }

  closed(run: EnsembleRun): void {
    if (run.place !== undefined) this.#runs.remove(run.place);
  }

  /** Takes a permit for a step, or a place in the line for one; false when too many wait. What may start does so at the next `pump`. */
  enter(asked: EnsembleStepRun): boolean {
    const desk = this.#desks[asked.plan.step.index];
    if (desk === undefined) return false;
    asked.waitingPlace = desk.enter(asked);
    if (asked.waitingPlace === undefined) this.#due.push(asked);
    // How many rows of one request wait is bounded by how far the step that makes them may be ahead.
    return asked.row.ahead !== undefined || desk.counters.queued <= this.#config.maxQueueSize;
  }

  leave(asked: EnsembleStepRun, as: 'out' | 'failed'): void {
    const desk = this.#desks[asked.plan.step.index];
    if (asked.waitingPlace?.isTaken) {
      desk?.withdraw(asked.waitingPlace);
      return;
    }
    const next = desk?.leave(as);
    if (next !== undefined) this.#due.push(next);
  }

  /** Starts what has its permit. A start may bring more, and end requests: the loop that runs already goes on with it, so that it never nests. */
  pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      for (let step = this.#due.shift(); step !== undefined; step = this.#due.shift()) step.start();
    } finally {
      this.#isPumping = false;
    }
  }

  /** How far a step of a request is ahead; undefined for one that answers once. */
  aheadOf({ ahead }: EnsembleRun, { index, branch, outputBranch, waits }: GraphStep): RowsAhead | undefined {
    const known = ahead[index];
    if (known !== undefined || branch === outputBranch) return known;
    const made = new RowsAhead(this.#config.waitOrder.isCircular(waits) ? this.#endlessMarks : this.#marks);
    ahead[index] = made;
    return made;
  }

  /** The line in which the answers of one request leave. */
  openOrder(counters: OrderCounters): InOrder<RowAnswer> {
    return new InOrder({ ...this.#ordering, counters });
  }

  /** Answers that wait for those of earlier rows, of all requests; the limit is that of one. Nothing where a request is answered once. */
  queues(): readonly QueueGauge[] {
    if (!answersMany(this.graph)) return [];
    let queued = 0;
    for (const run of this.#runs) queued += run.heldAnswers;
    return [{ name: 'order', queued, limit: rowsRefused }];
  }

  succeeded({ request, spent }: EnsembleRun): void {
    const { sink, epochMs } = this.#config;
    const { name: model, version } = this.graph;
    const outer = request.spent;
    if (outer !== undefined) {
      outer.inputMs += spent.inputMs;
      outer.inferMs += spent.inferMs;
      outer.outputMs += spent.outputMs;
    }
    const rows = rowsOf(this.graph, request);
    sink({
      kind: 'batch-executed',
      model,
      version,
      rows,
      succeeded: 1,
      succeededRows: rows,
      queueMs: 0,
      computeInputMs: spent.inputMs,
      computeInferMs: spent.inferMs,
      computeOutputMs: spent.outputMs,
      endedAtMs: epochMs(),
    });
  }

  /** Ends every request. */
  stop(error: (request: InferRequest) => InferError): void {
    for (let run = this.#runs.first; run !== undefined; run = this.#runs.first) run.stop(error(run.request));
  }

  stages(): readonly StageCounters[] {
    const { maxQueueSize } = this.#config;
    return this.graph.steps
      .toSorted((a, b) => a.index - b.index)
      .map((step) => ({
        name: stageName(step),
        ...(this.#desks[step.index] ?? new StepDesk(0)).counters,
        limit: this.graph.maxInflightRequests === 0 ? 0 : maxQueueSize,
        model: { name: step.modelName, version: step.modelVersion },
      }));
  }

  stepError({ index, modelName }: GraphStep, error: InferError): InferError {
    const text = `in ensemble '${this.graph.name}', ${error.message} (step ${index}, model '${modelName}')`;
    return new InferError(error.code, text, { cause: error });
  }

  deadlock({ id }: InferRequest): InferError {
    return new InferError(
      'INVALID_ARGUMENT',
      `in ensemble '${this.graph.name}', ${requestPrefix(id)}unexpected deadlock, at least one output is not set while no more ensemble steps can be made`,
    );
  }

  tooFarAhead(): InferError {
    const text = `answers that wait for later steps exceed the limit of ${rowsRefused} answers or ${bytesRefused} bytes`;
    return new InferError('RESOURCE_EXHAUSTED', text);
  }

  sayConflict({ index, modelName }: GraphStep): void {
    const who = `step ${index}, model '${modelName}', of ensemble '${this.graph.name}'`;
    this.#config.log.error(`different sequence parameters came with the inputs of ${who}; the first count`);
  }

  get #ordering() {
    return {
      limit: rowsRefused,
      maxSize: bytesRefused,
      sizeOf,
      keep,
      isUrgent: () => false,
      overflow: () =>
        new InferError(
          'RESOURCE_EXHAUSTED',
          `in ensemble '${this.graph.name}', answers that wait for earlier ones exceed the limit of ${rowsRefused} answers or ${bytesRefused} bytes`,
        ),
    };
  }
}

/** As the graph names it. */
export const stageName = ({ index, modelName }: Pick<GraphStep, 'index' | 'modelName'>): string => `${index}:${modelName}`;
