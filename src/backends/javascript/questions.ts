import type { ModelError } from './model-module.ts';

interface Asked {
  readonly resolve: (value: boolean | number) => void;
  readonly reject: (error: ModelError) => void;
}

/** Questions of a worker that the main thread answers in one message each. */
export class Questions {
  /** By number; a number is used again once it is answered. */
  readonly #asked: (Asked | undefined)[] = [];
  readonly #free: number[] = [];

  ask(send: (question: number) => void): Promise<boolean | number> {
    const question = this.#free.pop() ?? this.#asked.length;
    return new Promise((resolve, reject) => {
      this.#asked[question] = { resolve, reject };
      send(question);
    });
  }

  answer(question: number, value: boolean | number, error: ModelError | undefined): void {
    const asked = this.#asked[question];
    if (asked === undefined) return;
    this.#asked[question] = undefined;
    this.#free.push(question);
    if (error === undefined) asked.resolve(value);
    else asked.reject(error);
  }
}
