import { WaitingList } from '../../streams/flow/waiting-list.ts';
import type { SequenceStrategy } from '../../streams/inference/model-spec.ts';
import type { SequenceSlot } from './sequence-slot.ts';

/**
 * Slots without a sequence. The lowest number goes first, whichever instance it is of; among equals that of the oldest instance. In the oldest
 * strategy, where numbers mean nothing to the model, one whose last call still runs goes only when there is no other.
 */
export class FreeSlots {
  readonly #avoidsTaken: boolean;
  /** By slot number, then in order of instances. */
  readonly #byIndex: SequenceSlot[][] = [];
  /** None is free below. */
  #lowest = 0;
  readonly #taken = new WaitingList<SequenceSlot>();

  constructor(strategy: SequenceStrategy['kind']) {
    this.#avoidsTaken = strategy === 'oldest';
  }

  add(slot: SequenceSlot): void {
    if (this.#avoidsTaken && slot.isTaken) slot.freePlace = this.#taken.push(slot);
    else this.#insert(slot);
  }

  take(): SequenceSlot | undefined {
    for (; this.#lowest < this.#byIndex.length; this.#lowest++) {
      const slot = this.#byIndex[this.#lowest]?.shift();
      if (slot !== undefined) return slot;
    }
    return this.#taken.shift();
  }

  /** Its last call has ended. */
  cleared(slot: SequenceSlot): void {
    if (this.#dropTaken(slot)) this.#insert(slot);
  }

  remove(slot: SequenceSlot): void {
    const equals = this.#byIndex[slot.index];
    const at = equals?.indexOf(slot) ?? -1;
    if (at >= 0) equals?.splice(at, 1);
    else this.#dropTaken(slot);
  }

  #insert(slot: SequenceSlot): void {
    const { index, batcher } = slot;
    while (this.#byIndex.length <= index) this.#byIndex.push([]);
    const equals = this.#byIndex[index] ?? [];
    let at = equals.length;
    while (at > 0 && (equals[at - 1]?.batcher.order ?? 0) > batcher.order) at--;
    equals.splice(at, 0, slot);
    this.#lowest = Math.min(this.#lowest, index);
  }

  #dropTaken(slot: SequenceSlot): boolean {
    const place = slot.freePlace;
    slot.freePlace = undefined;
    return place !== undefined && this.#taken.remove(place);
  }
}
