import { concat, NEVER, Observable, of, type Subscriber } from 'rxjs';
import type { Backend, Batch, Instance, Part } from '../../src/streams/inference/backend.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';

/** One instance that echoes in place, except while it is held: then its batch waits, and all other requests behind it. */
export class HeldInstance implements Instance {
  readonly capacity = 1;
  #isHeld = false;
  #resume: (() => void) | undefined;

  run(batch: Batch): Observable<Part> {
    return new Observable((parts) => {
      if (!this.#isHeld) {
        answer(batch, parts);
        return;
      }
      const resume = (): void => answer(batch, parts);
      this.#resume = resume;
    });
  }

  hold(): void {
    this.#isHeld = true;
  }

  get hasBatch(): boolean {
    return this.#resume !== undefined;
  }

  goOn(): void {
    const resume = this.#resume;
    this.#isHeld = false;
    this.#resume = undefined;
    resume?.();
  }
}

const answer = ({ requests }: Batch, parts: Subscriber<Part>): void => {
  for (const [row, { inputs }] of requests.entries()) {
    const input = inputs.get('INPUT0');
    if (input === undefined) throw new Error('INPUT0 is missing');
    parts.next({ of: row, outputs: new Map([['OUTPUT0', input]]), parameters: noParameters, isLast: true, error: undefined });
  }
  parts.complete();
};

export const heldBackend = (instance: HeldInstance): Backend => ({
  name: 'held',
  needsModelFile: false,
  gathers: false,
  answersMany: false,
  describe: () => Promise.resolve(undefined),
  open: () => concat(of(instance), NEVER),
});
