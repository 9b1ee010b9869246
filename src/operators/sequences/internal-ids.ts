import type { SequenceBatching } from '../../streams/inference/model-spec.ts';
import type { SequenceId } from './sequence.ts';

/** Ids of the sequences whose requests have none: from 1 on, as text where the model takes text. */
export class InternalIds {
  readonly #isText: boolean;
  #last = 0n;

  constructor({ controls }: Pick<SequenceBatching, 'controls'>) {
    this.#isText = controls.some(({ kind, datatype }) => kind === 'CORRID' && datatype === 'BYTES');
  }

  next(): SequenceId {
    const id = ++this.#last;
    return this.#isText ? `${id}` : id;
  }
}
