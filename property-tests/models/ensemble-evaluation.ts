import {
  type Answer,
  type Answers,
  answersOf,
  branchOf,
  type EnsembleSetting,
  firstTensorOf,
  makerOf,
  type Value,
} from './ensemble-setting.ts';

/** One row of a branch: the answer that began it, and the row that was asked with. */
interface Row {
  readonly parent: Row | undefined;
  readonly answer: Answer | undefined;
  readonly known: Map<number, Answers>;
}

export interface Evaluation {
  /** What the ensemble answers, in order, by wanted output; undefined for a row that fails. */
  readonly answers: readonly (readonly Value[] | undefined)[];
  /** Steps of which one at least fails. */
  readonly failing: ReadonlySet<number>;
}

class Failure extends Error {}

/** What an ensemble answers to a request: asks for each wanted tensor, and so for what it is made of. */
export class EnsembleEvaluation {
  readonly #setting: EnsembleSetting;
  readonly #inputs: readonly Value[];
  readonly #failing = new Set<number>();
  readonly #rows = new Map<number | undefined, readonly Row[]>();

  constructor(setting: EnsembleSetting, inputs: readonly Value[]) {
    this.#setting = setting;
    this.#inputs = inputs;
    this.#rows.set(undefined, [{ parent: undefined, answer: undefined, known: new Map() }]);
  }

  of(wanted: readonly number[]): Evaluation {
    const rows = this.#rowsOf(branchOf(this.#setting, wanted[0] ?? 0));
    const answers = rows.map((row) => {
      // All of them are asked for, though one has failed: each may be what the request fails with.
      const values = wanted.map((tensor) => this.#try(() => this.#value(tensor, row)));
      return values.some((value) => value instanceof Failure)
        ? undefined
        : values.map((value) => (value instanceof Failure ? undefined : value));
    });
    return { answers, failing: this.#failing };
  }

  #rowsOf(branch: number | undefined): readonly Row[] {
    const known = this.#rows.get(branch);
    if (known !== undefined || branch === undefined) return known ?? [];
    const inputs = this.#setting.steps[branch]?.inputs ?? [];
    const rows = this.#rowsOf(branchOf(this.#setting, inputs[0] ?? 0)).flatMap((parent) => {
      const made = this.#try(() => this.#ask(branch, parent));
      return made instanceof Failure ? [] : made.answers.map((answer): Row => ({ parent, answer, known: new Map() }));
    });
    this.#rows.set(branch, rows);
    return rows;
  }

  #value(tensor: number, row: Row): Value {
    const maker = makerOf(this.#setting, tensor);
    if (maker === undefined) return this.#inputs[tensor];
    const output = tensor - firstTensorOf(this.#setting, maker);
    if (this.#setting.steps[maker]?.mostAnswers !== undefined) return row.answer?.outputs[output];
    const { fails, answers } = this.#ask(maker, row);
    if (fails) throw new Failure();
    return answers[0]?.outputs[output];
  }

  #ask(step: number, row: Row): Answers {
    const known = row.known.get(step);
    if (known !== undefined) return known;
    const setting = this.#setting.steps[step];
    if (setting === undefined) throw new Failure();
    const inputs = setting.inputs.map((tensor) => this.#try(() => this.#value(tensor, row)));
    if (inputs.some((value) => value instanceof Failure)) throw new Failure();
    const made = answersOf(
      setting,
      step,
      inputs.map((value) => (value instanceof Failure ? undefined : value)),
    );
    if (made.fails) this.#failing.add(step);
    row.known.set(step, made);
    return made;
  }

  #try<T>(make: () => T): T | Failure {
    try {
      return make();
    } catch (error) {
      if (error instanceof Failure) return error;
      throw error;
    }
  }
}
