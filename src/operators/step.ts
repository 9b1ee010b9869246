import type { Part } from '../streams/inference/backend.ts';
import type { InferRequest } from '../streams/inference/request.ts';

/** One request of a sequence on its way through a batch: what its sequence adds to it and takes from it. It runs to its end even if its caller goes. */
export interface Step {
  /** As the model is to see it, control inputs and states included. Asked once, when its batch begins. */
  request(): InferRequest;
  /** An answer of the model, in time to read its tensors; returns what the caller may see of it. */
  take(part: Part): Part;
  /** Whether the model may ask for it to run again. */
  readonly isIterative: boolean;
  /** Whether its sequence may go on before its last answer is there, once its instance takes other batches: it leaves nothing behind. */
  readonly mayEndEarly: boolean;
  /** The model wants it to run again: the call is still open, and its next step follows `released`. */
  reschedule(): void;
  /** Its batch has ended, in whatever way, or goes on without its instance. Called once, before the lease goes back. */
  released(): void;
}
