/** What one step of an ensemble waits for when it is told to wait. */
export interface StepWaits {
  /** Names of the models that answer many times which the step asks, perhaps by way of other ensembles. They may keep their instances while they wait. */
  readonly models: ReadonlySet<string>;
  /** The same of the steps behind it. */
  readonly behind: ReadonlySet<string>;
}

/** Such a step is never told to wait: so nobody waits for those behind it through its models. */
const waitsForItself = ({ models, behind }: StepWaits): boolean => [...models].some((model) => behind.has(model));

/**
 * Which models wait for which, over all ensembles. Where they would wait for each other in a circle, or one for itself, none of them may be told to wait: each
 * could keep the instance that the next one needs, for ever.
 */
export class WaitOrder {
  readonly #steps = new Set<StepWaits>();
  /** What has been found since steps came or went. */
  #found = new Map<StepWaits, boolean>();

  /** Of an ensemble that can be asked from now on. Call what it returns when nobody asks it any more. */
  add(steps: readonly StepWaits[]): () => void {
    for (const step of steps) if (!waitsForItself(step)) this.#steps.add(step);
    this.#found = new Map();
    return () => {
      for (const step of steps) this.#steps.delete(step);
      this.#found = new Map();
    };
  }

  /** Whether a model of a step would wait for itself. */
  isCircular(step: StepWaits): boolean {
    const found = this.#found.get(step);
    if (found !== undefined) return found;
    const isCircular = waitsForItself(step) || this.#leadsBack(step);
    this.#found.set(step, isCircular);
    return isCircular;
  }

  #leadsBack({ models, behind }: StepWaits): boolean {
    const reached = new Set(behind);
    // Grows while it is gone through.
    for (const model of reached) {
      if (models.has(model)) return true;
      for (const step of this.#steps) if (step.models.has(model)) for (const next of step.behind) reached.add(next);
    }
    return false;
  }
}
