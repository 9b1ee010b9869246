/** How many sequences take requests: what a model that drains waits for. And which of them have no slot. */
export class OpenSequences {
  /** Requests of sequences that wait for a slot. Set by the scheduler. */
  backlog: { readonly requests: number } = { requests: 0 };
  readonly #onNone: (() => void)[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  opened(): void {
    this.#count++;
  }

  closed(): void {
    this.#count--;
    if (this.#count > 0) return;
    for (const resolve of this.#onNone.splice(0)) resolve();
  }

  /** Resolves when there is none. */
  whenNone(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onNone.push(resolve));
  }
}
