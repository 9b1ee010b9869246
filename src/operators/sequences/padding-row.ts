import type { Part } from '../../streams/inference/backend.ts';
import { bareRequest } from '../../streams/inference/bare-request.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { sameShape } from '../../streams/tensors/shape.ts';
import type { Tensor, Tensors } from '../../streams/tensors/tensor.ts';
import { zeroTensor } from '../../streams/tensors/zero-tensor.ts';
import { type Call, type Cancellable, endedCall } from '../call.ts';
import type { Step } from '../step.ts';
import { controlInputs } from './control-inputs.ts';
import { keptBytes, paddingState } from './implicit-state.ts';
import type { SequenceSlot, SlotSpec } from './sequence-slot.ts';

const isLike = (former: Tensors, pattern: Tensors): boolean => {
  if (former.size !== pattern.size) return false;
  for (const [name, { shape }] of pattern) {
    const tensor = former.get(name);
    if (tensor === undefined || !sameShape(tensor.shape, shape)) return false;
  }
  return true;
};

/**
 * The row that fills up a direct batch of one instance: the representative's shapes, zeros, initial states, and control inputs that say that it is
 * not ready and of no sequence. Its call has ended before, and so nobody gets its answer.
 */
export class PaddingRow implements Step, Cancellable {
  readonly isIterative = false;
  readonly mayEndEarly = true;
  readonly #spec: SlotSpec;
  readonly #addControls: ReturnType<typeof controlInputs>;
  readonly #initial: Tensors;
  readonly #call: Call;
  #like: SequenceSlot | undefined;
  /** Serves again while shapes stay the same. */
  #request: InferRequest | undefined;
  #sizeBytes = 0;

  constructor(spec: SlotSpec) {
    this.#spec = spec;
    this.#addControls = controlInputs(spec);
    const initial = new Map<string, Tensor>();
    paddingState(spec)(initial);
    this.#initial = initial;
    this.#call = endedCall(bareRequest(this.#spec.name, '', initial), '', 0);
    this.#call.step = this;
  }

  /** For the batch that begins now, whose representative is there. */
  like(representative: SequenceSlot): Call {
    this.#like = representative;
    return this.#call;
  }

  /** Gives back zeros for a state that had grown. */
  trim(): void {
    if (this.#sizeBytes <= keptBytes) return;
    this.#request = undefined;
    this.#sizeBytes = 0;
  }

  request(): InferRequest {
    const pattern = this.#like?.request().inputs ?? this.#initial;
    if (this.#request === undefined || !isLike(this.#request.inputs, pattern)) this.#request = this.#zeros(pattern);
    return this.#request;
  }

  take(part: Part): Part {
    return part;
  }

  reschedule(): void {}

  /** Its call is used again: from then on it keeps nothing of that batch alive. */
  released(): void {
    this.#call.holder = this;
  }

  cancel(): void {}

  #zeros(pattern: Tensors): InferRequest {
    const inputs = new Map<string, Tensor>();
    this.#sizeBytes = 0;
    for (const [name, { datatype, shape }] of pattern) {
      const initial = this.#initial.get(name);
      if (initial !== undefined && sameShape(initial.shape, shape)) {
        inputs.set(name, initial);
        continue;
      }
      const zeros = zeroTensor(datatype, shape);
      this.#sizeBytes += zeros.byteLength;
      inputs.set(name, zeros);
    }
    this.#addControls(inputs, { start: false, end: false, ready: false, sequenceId: 0n });
    return bareRequest(this.#spec.name, '', inputs);
  }
}
