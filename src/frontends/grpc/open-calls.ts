/** A call that goes on until its client or its server ends it. */
export interface OpenCall {
  /** Takes nothing new and ends once what it has begun is answered. */
  shutDown(): void;
}

/** The calls in flight of one server. */
export class OpenCalls {
  readonly #calls = new Set<OpenCall>();
  #isShuttingDown = false;
  #onEmpty: (() => void) | undefined;

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  get size(): number {
    return this.#calls.size;
  }

  add(call: OpenCall): void {
    this.#calls.add(call);
  }

  delete(call: OpenCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#onEmpty?.();
  }

  /** Resolves when the last call has ended; later ones are refused meanwhile. */
  shutDown(): Promise<void> {
    this.#isShuttingDown = true;
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      for (const call of [...this.#calls]) call.shutDown();
      if (this.#calls.size === 0) resolve();
    });
  }
}
