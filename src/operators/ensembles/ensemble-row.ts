import type { Observer } from 'rxjs';
import type { Turn } from '../../streams/flow/in-order.ts';
import { JoinRow } from '../../streams/flow/join-row.ts';
import type { Parameters } from '../../streams/inference/parameters.ts';
import type { Tensor, Tensors } from '../../streams/tensors/tensor.ts';
import type { BranchPlan } from './ensemble-plan.ts';
import type { EnsembleRun } from './ensemble-run.ts';
import type { RowsAhead } from './rows-ahead.ts';
import type { SequenceOverride } from './sequence-override.ts';

/** What an ensemble answers for one row, and when it may be read: during the call that has it, unless it was kept. */
export interface RowAnswer {
  readonly outputs: Tensors;
  readonly parameters: Parameters;
}

/** Bytes of its tensors. */
export const sizeOf = ({ outputs }: RowAnswer): number => {
  let size = 0;
  for (const tensor of outputs.values()) size += tensor.byteLength;
  return size;
};

/** One index of a branch: the tensors that the ensemble has for it, and what is still to be done with them. Hears of its turn to answer. */
export class EnsembleRow implements Observer<RowAnswer> {
  readonly branch: BranchPlan;
  readonly tensors: JoinRow<Tensor>;
  /** Of the step whose answer began it; undefined for the request's own row. */
  readonly ahead: RowsAhead | undefined;
  readonly #run: EnsembleRun;
  #overrides: (SequenceOverride | undefined)[] | undefined;
  /** Where its answer waits for those of earlier rows, in a branch of which there are several. */
  turn: Turn<RowAnswer> | undefined;
  /** Steps that wait or run for it. */
  steps = 0;
  /** Of the tensors that were copied for it. */
  bytes = 0;
  /** Nothing will be done for it any more, but for its turn. */
  isOver = false;

  constructor(run: EnsembleRun, branch: BranchPlan, ahead: RowsAhead | undefined) {
    this.#run = run;
    this.branch = branch;
    this.tensors = new JoinRow(branch.join);
    this.ahead = ahead;
  }

  setOverride(slot: number, override: SequenceOverride): void {
    this.#overrides ??= [];
    this.#overrides[slot] = override;
  }

  /** The sequences to which the tensors of some slots belong, where a step has said so. */
  overridesOf(taps: readonly { readonly slot: number }[]): readonly SequenceOverride[] {
    const all = this.#overrides;
    if (all === undefined) return [];
    return taps.flatMap(({ slot }) => all[slot] ?? []);
  }

  next(answer: RowAnswer): void {
    this.#run.emit(answer);
  }

  error(error: unknown): void {
    this.#run.overflow(error);
  }

  complete(): void {
    this.#run.closeRow(this);
  }
}
