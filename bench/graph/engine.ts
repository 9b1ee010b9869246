import type { Observer, Unsubscribable } from 'rxjs';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';

/** What answers requests in this process. */
export interface Engine {
  /** One answer and the end of it, later. Unsubscribing cancels. */
  ask(request: InferRequest, caller: Observer<InferResponse>): Unsubscribable;
  /** Successful requests in its statistics. */
  counted(): number;
  stop(): void;
}
