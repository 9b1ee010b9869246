import { WaitingList } from '../../streams/flow/waiting-list.ts';
import type { Sequence } from './sequence.ts';

/** Sequences that wait for a slot, in the order of their STARTs, each with its requests so far. */
export class SequenceBacklog implements Iterable<Sequence> {
  readonly #sequences = new WaitingList<Sequence>();
  #requests = 0;

  /** Of sequences. */
  get length(): number {
    return this.#sequences.length;
  }

  get requests(): number {
    return this.#requests;
  }

  add(sequence: Sequence): void {
    sequence.backlogPlace = this.#sequences.push(sequence);
  }

  /** One of its sequences has got a request. */
  grow(): void {
    this.#requests++;
  }

  shift(): Sequence | undefined {
    const { first } = this.#sequences;
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** With all of its requests; does nothing for one that is not here. */
  remove(sequence: Sequence): void {
    const place = sequence.backlogPlace;
    if (place === undefined) return;
    this.#sequences.remove(place);
    sequence.backlogPlace = undefined;
    this.#requests -= sequence.waiting.length;
  }

  [Symbol.iterator](): Iterator<Sequence> {
    return this.#sequences[Symbol.iterator]();
  }
}
