import type { Subscriber, Unsubscribable } from 'rxjs';
import { type InOrder, noOrderCounters, type OrderCounters } from '../../streams/flow/in-order.ts';
import type { Place } from '../../streams/flow/waiting-list.ts';
import { WaitingList } from '../../streams/flow/waiting-list.ts';
import { InferError, requestPrefix, toInferError } from '../../streams/inference/error.ts';
import type { Caller, ComputeTimes, InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import type { Ensemble, StepModel } from './ensemble.ts';
import { answersMany } from './ensemble-graph.ts';
import type { RunPlan, StepPlan } from './ensemble-plan.ts';
import { EnsembleRow, type RowAnswer, sizeOf } from './ensemble-row.ts';
import { EnsembleStepRun } from './ensemble-step-run.ts';
import { fitBatch } from './fit-batch.ts';
import { keepOutputs } from './keep-outputs.ts';
import type { RowsAhead } from './rows-ahead.ts';
import { isSameSequence, sequenceOverride, sequenceParameters } from './sequence-override.ts';

/** One request on its way through an ensemble, and the caller that waits for its answers. Ends once. */
export class EnsembleRun implements Unsubscribable {
  readonly request: InferRequest;
  /** As the steps' models see who asks. */
  readonly self: Caller;
  readonly spent: ComputeTimes = { inputMs: 0, inferMs: 0, outputMs: 0 };
  /** By step: what it asks, held until the request ends. */
  readonly models: StepModel[] = [];
  /** By step, of those that answer many times. */
  readonly ahead: RowsAhead[] = [];
  place: Place<EnsembleRun> | undefined;
  readonly #ensemble: Ensemble;
  readonly #plan: RunPlan;
  readonly #caller: Subscriber<InferResponse>;
  /** Steps that have not ended. */
  readonly #steps = new WaitingList<EnsembleStepRun>();
  /** Of the rows that answer, where there may be several. */
  #order: InOrder<RowAnswer> | undefined;
  #ordering: OrderCounters | undefined;
  /** Rows of the branch that answers whose turn is not over. */
  #openTurns = 0;
  #hasAnswered = false;
  #isOpen = true;

  constructor(ensemble: Ensemble, request: InferRequest, caller: Subscriber<InferResponse>) {
    this.#ensemble = ensemble;
    this.request = request;
    this.#caller = caller;
    this.#plan = ensemble.planOf(request.outputs);
    this.self = { modelName: ensemble.graph.name, caller: request.caller };
  }

  get heldAnswers(): number {
    return this.#ordering?.held ?? 0;
  }

  begin(): void {
    const { branches, inputs } = this.#plan;
    const [branch] = branches;
    if (branch === undefined || !this.#holdModels()) return;
    const onOpen = (): void => this.#reopen(undefined);
    if (this.request.demand !== undefined) this.request.demand.onOpen = onOpen;
    const row = new EnsembleRow(this, branch, undefined);
    const whole: number[] = [];
    for (const { name, slot } of inputs) row.tensors.settle(slot, this.request.inputs.get(name), whole);
    this.#goOn(row, whole);
    this.#finish();
    this.#ensemble.pump();
  }

  /** A step has answered. */
  take(step: EnsembleStepRun, response: InferResponse): void {
    const error = response.error ?? (step.hasAnswered && !step.answersMany ? this.#anotherAnswer(step) : undefined);
    if (error !== undefined) {
      this.failStep(step, error);
      return;
    }
    step.hasAnswered = true;
    if (!this.#readSequence(step, response)) return;
    const row = step.answersMany ? this.#beginRow(step) : step.row;
    if (row === undefined) return;
    const { inputs } = step;
    if (response.isLast) this.#end(step, 'out');
    const whole: number[] = [];
    for (const { name, slot } of step.plan.outputs) {
      row.tensors.settle(slot, response.outputs.get(name), whole);
      if (step.override !== undefined) row.setOverride(slot, step.override);
    }
    this.#addBytes(row, keepOutputs({ row, outputs: step.plan.outputs, inputs, whole }));
    this.#goOn(row, whole);
    this.#endRow(row);
    if (row !== step.row) this.#endRow(step.row);
    this.#finish();
    this.#ensemble.pump();
  }

  completeStep(step: EnsembleStepRun): void {
    this.#end(step, 'out');
    this.#endRow(step.row);
    this.#finish();
    this.#ensemble.pump();
  }

  failStep(step: EnsembleStepRun, error: unknown): void {
    this.#end(step, 'failed');
    this.#fail(this.#ensemble.stepError(step.plan.step, toInferError(error)), step);
  }

  /** An answer whose turn has come. */
  emit({ outputs, parameters }: RowAnswer): void {
    if (!this.#isOpen) return;
    const { name: modelName, version: modelVersion } = this.#ensemble.graph;
    const isLast = this.#steps.length === 0 && this.#openTurns <= 1;
    this.#hasAnswered = true;
    if (isLast) this.#succeed();
    this.#caller.next({ modelName, modelVersion, id: this.request.id, parameters, outputs, isLast });
    if (isLast) this.#caller.complete();
  }

  /** Too many answers wait for an earlier one. */
  overflow(error: unknown): void {
    this.#fail(toInferError(error));
  }

  /** Its turn is over too. */
  closeRow(row: EnsembleRow): void {
    if (!this.#isOpen) return;
    if (row.turn !== undefined) this.#openTurns--;
    if (row.ahead?.endRow(row.bytes)) this.#reopen(row.ahead);
    this.#finish();
  }

  /** The ensemble ends under it. */
  stop(error: InferError): void {
    this.#fail(error);
  }

  /** The caller has gone, or the request has ended. */
  unsubscribe(): void {
    if (this.#isOpen) {
      this.#close();
      this.#ensemble.pump();
    }
  }

  #holdModels(): boolean {
    for (const { step } of this.#plan.steps) {
      try {
        const model = this.#ensemble.models.find(step.modelName, step.modelVersion);
        model.hold();
        this.models[step.index] = model;
      } catch (error) {
        this.#fail(this.#ensemble.stepError(step, toInferError(error)));
        return false;
      }
    }
    return true;
  }

  /** False when the answer's parameters are wrong. */
  #readSequence(step: EnsembleStepRun, { parameters }: InferResponse): boolean {
    try {
      step.override = sequenceOverride(parameters, step.override ?? this.request) ?? step.override;
      return true;
    } catch (error) {
      this.failStep(step, error);
      return false;
    }
  }

  /** Undefined where the model answers faster than anything goes on with it, and does not wait. */
  #beginRow(step: EnsembleStepRun): EnsembleRow | undefined {
    const { ahead } = step;
    if (ahead?.isFull) {
      this.failStep(step, this.#ensemble.tooFarAhead());
      return undefined;
    }
    const index = step.plan.step.outputBranch;
    const branch = this.#plan.branches[index];
    if (branch === undefined) return undefined;
    const row = new EnsembleRow(this, branch, ahead);
    ahead?.beginRow();
    if (index !== this.#plan.answerBranch) return row;
    this.#order ??= this.#openOrder();
    this.#openTurns++;
    row.turn = this.#order.open(row);
    return row;
  }

  #openOrder(): InOrder<RowAnswer> {
    this.#ordering = noOrderCounters();
    return this.#ensemble.openOrder(this.#ordering);
  }

  /** What lacks nothing any more goes: steps to their permits, the answer out. */
  #goOn(row: EnsembleRow, whole: readonly number[]): void {
    for (const joint of whole) {
      const next = row.branch.joints[joint];
      if (!this.#isOpen) return;
      if (next === undefined) this.#answer(row, joint);
      else this.#enter(row, next);
    }
  }

  #enter(row: EnsembleRow, plan: StepPlan): void {
    const step = new EnsembleStepRun(this, row, plan, this.#ensemble.aheadOf(this, plan.step));
    const [override, ...others] = row.overridesOf(plan.inputs);
    step.override = override;
    if (override !== undefined && others.some((other) => !isSameSequence(override, other))) this.#ensemble.sayConflict(plan.step);
    row.steps++;
    step.place = this.#steps.push(step);
    if (this.#ensemble.enter(step)) return;
    const text = `${requestPrefix(this.request.id)}Exceeds maximum queue size`;
    this.failStep(step, new InferError('UNAVAILABLE', text));
  }

  #answer(row: EnsembleRow, joint: number): void {
    const outputs = new Map<string, Tensor>();
    for (const tap of this.#plan.outputs) {
      const tensor = row.tensors.get(tap.slot);
      if (tensor !== undefined) outputs.set(tap.name, fitBatch(tap, tensor));
    }
    const [override] = row.overridesOf(this.#plan.outputs);
    row.tensors.letGo(joint);
    const answer = { outputs, parameters: sequenceParameters(override ?? this.request) };
    if (row.turn === undefined) {
      this.emit(answer);
      return;
    }
    // It may be held.
    this.#addBytes(row, sizeOf(answer));
    row.turn.next(answer);
  }

  /** Until the row is over they count for the step whose answer began it. */
  #addBytes(row: EnsembleRow, bytes: number): void {
    row.bytes += bytes;
    row.ahead?.addBytes(bytes);
  }

  #endRow(row: EnsembleRow): void {
    if (!this.#isOpen || row.isOver || row.steps > 0) return;
    row.isOver = true;
    if (row.turn === undefined) this.closeRow(row);
    else row.turn.complete();
  }

  /** A step runs no more, and its permit goes to the next. */
  #end(step: EnsembleStepRun, as: 'out' | 'failed'): void {
    step.end();
    if (step.place !== undefined) this.#steps.remove(step.place);
    step.row.steps--;
    this.#ensemble.leave(step, as);
  }

  /** Nothing is under way any more. */
  #finish(): void {
    if (!this.#isOpen || this.#steps.length > 0 || this.#openTurns > 0) return;
    if (this.#hasAnswered || answersMany(this.#ensemble.graph)) {
      this.#succeed();
      this.#caller.complete();
      return;
    }
    this.#fail(this.#ensemble.deadlock(this.request));
  }

  #succeed(): void {
    this.#close();
    this.#ensemble.succeeded(this);
  }

  #fail(error: InferError, step?: EnsembleStepRun): void {
    if (!this.#isOpen) return;
    this.#close();
    // It may not know: an answer of it was at fault.
    step?.cancel();
    this.#caller.error(error);
    this.#ensemble.pump();
  }

  #close(): void {
    this.#isOpen = false;
    if (this.request.demand !== undefined) this.request.demand.onOpen = undefined;
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
      step.end();
      this.#ensemble.leave(step, 'failed');
      step.cancel();
    }
    for (const { step } of this.#plan.steps) this.models[step.index]?.release();
    this.#ensemble.closed(this);
  }

  /** There is room again for those that are so far ahead; undefined: whoever asks has room again for all of them. */
  #reopen(ahead: RowsAhead | undefined): void {
    for (const step of [...this.#steps]) if (ahead === undefined || step.ahead === ahead) step.reopen();
  }

  #anotherAnswer({ plan: { step } }: EnsembleStepRun): InferError {
    return new InferError('INTERNAL', `expected a single response from model '${step.modelName}', got another one`);
  }
}
