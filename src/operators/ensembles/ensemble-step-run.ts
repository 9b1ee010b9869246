import type { Observer, Subscription } from 'rxjs';
import type { Demand } from '../../streams/flow/demand.ts';
import type { Place } from '../../streams/flow/waiting-list.ts';
import { refuseCycles } from '../../streams/inference/model-calls.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Tensor, Tensors } from '../../streams/tensors/tensor.ts';
import type { StepPlan } from './ensemble-plan.ts';
import type { EnsembleRow } from './ensemble-row.ts';
import type { EnsembleRun } from './ensemble-run.ts';
import { fitBatch } from './fit-batch.ts';
import type { RowsAhead } from './rows-ahead.ts';
import type { SequenceOverride } from './sequence-override.ts';

const noTensors: Tensors = new Map();

/** One request of a step: waits for its permit, asks the step's model, and takes its answers. Where the model answers many times, it is told to wait by this. */
export class EnsembleStepRun implements Observer<InferResponse>, Demand {
  readonly plan: StepPlan;
  /** Of its inputs. */
  readonly row: EnsembleRow;
  readonly #run: EnsembleRun;
  /** Among those of the request that have not ended. */
  place: Place<EnsembleStepRun> | undefined;
  /** Of the step, in this request; undefined where its model answers once. */
  readonly ahead: RowsAhead | undefined;
  /** While it waits for its permit. */
  waitingPlace: Place<EnsembleStepRun> | undefined;
  /** What it has asked with. */
  inputs = noTensors;
  override: SequenceOverride | undefined;
  onOpen: (() => void) | undefined;
  isEnded = false;
  /** It has answered. */
  hasAnswered = false;
  /** It was closed when it ended. */
  #mayWait = false;
  #asking: Subscription | undefined;

  constructor(run: EnsembleRun, row: EnsembleRow, plan: StepPlan, ahead: RowsAhead | undefined) {
    this.#run = run;
    this.row = row;
    this.plan = plan;
    this.ahead = ahead;
  }

  get answersMany(): boolean {
    return this.ahead !== undefined;
  }

  /** Nothing that comes once it has ended is kept: nobody is to wait for room then, such as a model that does not hear of cancellations. */
  get isOpen(): boolean {
    return this.isEnded || (this.ahead?.isPaused !== true && (this.#run.request.demand?.isOpen ?? true));
  }

  /** It has its permit. */
  start(): void {
    if (this.isEnded) return;
    const run = this.#run;
    const { step, joint, inputs: taps, requested } = this.plan;
    const { request } = run;
    const model = run.models[step.index];
    if (model === undefined) return;
    const inputs = new Map<string, Tensor>();
    for (const tap of taps) {
      const tensor = this.row.tensors.get(tap.slot);
      if (tensor !== undefined) inputs.set(tap.name, fitBatch(tap, tensor));
    }
    this.row.tensors.letGo(joint);
    this.inputs = inputs;
    const sequence = this.override ?? request;
    // A model that waits for this ensemble must not be asked by it.
    const infer = request.caller === undefined ? model.infer : refuseCycles(model.infer);
    try {
      this.#asking = infer({
        modelName: step.modelName,
        modelVersion: step.modelVersion,
        id: request.id,
        inputs,
        outputs: requested,
        parameters: request.parameters,
        sequenceId: sequence.sequenceId,
        sequenceStart: sequence.sequenceStart,
        sequenceEnd: sequence.sequenceEnd,
        priority: request.priority,
        timeoutMicroseconds: request.timeoutMicroseconds,
        caller: run.self,
        demand: this.answersMany ? this : undefined,
        spent: run.spent,
      }).subscribe(this);
    } catch (error) {
      this.error(error);
      return;
    }
    // It may have ended within `subscribe`.
    if (this.isEnded) this.#asking.unsubscribe();
  }

  next(response: InferResponse): void {
    if (!this.isEnded) this.#run.take(this, response);
  }

  error(error: unknown): void {
    if (!this.isEnded) this.#run.failStep(this, error);
  }

  complete(): void {
    if (!this.isEnded) this.#run.completeStep(this);
  }

  /** It answers no more. */
  end(): void {
    this.#mayWait = !this.isOpen;
    this.isEnded = true;
    this.inputs = noTensors;
  }

  /** It has ended, and its model may not know. */
  cancel(): void {
    this.#asking?.unsubscribe();
    if (this.#mayWait) this.onOpen?.();
  }

  /** Whatever kept it waiting may be over. */
  reopen(): void {
    if (this.isOpen && !this.isEnded) this.onOpen?.();
  }
}
