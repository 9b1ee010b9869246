/** Which joints take which sources. Made once, for many rows. */
export interface JoinPlan {
  /** Each once. */
  readonly sourcesOf: readonly (readonly number[])[];
  readonly jointsOf: readonly (readonly number[])[];
  /** By joint. */
  readonly sourceCounts: readonly number[];
  /** By source. */
  readonly jointCounts: readonly number[];
}

/** `taken` has the sources that each joint takes; one that it takes twice counts once. */
export const joinPlan = (sources: number, taken: readonly (readonly number[])[]): JoinPlan => {
  const sourcesOf = taken.map((each) => [...new Set(each)]);
  const jointsOf = Array.from({ length: sources }, (_, source) =>
    sourcesOf.flatMap((each, joint) => (each.includes(source) ? [joint] : [])),
  );
  return {
    sourcesOf,
    jointsOf,
    sourceCounts: sourcesOf.map(({ length }) => length),
    jointCounts: jointsOf.map(({ length }) => length),
  };
};

/**
 * What several sources have made for one index. A joint is whole once each of its sources has made its value; a value is kept until every joint that
 * takes it has let go of it.
 */
export class JoinRow<T> {
  readonly #plan: JoinPlan;
  readonly #values: (T | undefined)[] = [];
  /** Sources that each joint lacks. */
  readonly #missing: number[];
  /** Joints that have not let go of each source. */
  readonly #uses: number[];

  constructor(plan: JoinPlan) {
    this.#plan = plan;
    this.#missing = plan.sourceCounts.slice();
    this.#uses = plan.jointCounts.slice();
  }

  /** A source has made its value, once; undefined for none. Adds to `whole` the joints that lack nothing any more. */
  settle(source: number, value: T | undefined, whole: number[]): void {
    const joints = this.#plan.jointsOf[source];
    if (joints === undefined || joints.length === 0) return;
    this.#values[source] = value;
    for (const joint of joints) {
      const missing = (this.#missing[joint] ?? 0) - 1;
      this.#missing[joint] = missing;
      if (missing === 0) whole.push(joint);
    }
  }

  /** Undefined for what is not there, not yet or no longer. */
  get(source: number): T | undefined {
    return this.#values[source];
  }

  /** Another form of a value that is there. */
  replace(source: number, value: T): void {
    this.#values[source] = value;
  }

  /** A joint has what it needs of its sources. */
  letGo(joint: number): void {
    for (const source of this.#plan.sourcesOf[joint] ?? []) {
      const uses = (this.#uses[source] ?? 0) - 1;
      this.#uses[source] = uses;
      if (uses === 0) this.#values[source] = undefined;
    }
  }
}
