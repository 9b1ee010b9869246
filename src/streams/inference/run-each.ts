import { Observable, type Observer, Subscription } from 'rxjs';
import type { Tensors } from '../tensors/tensor.ts';
import type { Batch, Part } from './backend.ts';
import { noParameters } from './parameters.ts';
import type { InferRequest } from './request.ts';

const noTensors: Tensors = new Map();

/**
 * Runs the requests of a batch beside each other, for an instance whose answers come over time.
 *
 * emits when      one of `answersTo` does; and when it completes, that nothing follows for its request
 * errors when     one of `answersTo` does
 * completes when  all of them have ended
 * on unsubscribe  ends all of them; when one request's caller goes, its own
 */
export const runEach = (batch: Batch, answersTo: (request: InferRequest, of: number) => Observable<Part>): Observable<Part> =>
  new Observable((parts) => {
    const runs: Subscription[] = batch.requests.map(() => new Subscription());
    let open = runs.length;

    const observe = (of: number): Partial<Observer<Part>> => ({
      next: (part) => parts.next(part),
      error: (error) => parts.error(error),
      complete: () => parts.next({ of, outputs: noTensors, parameters: noParameters, isLast: true, error: undefined }),
    });

    const onCancelled = (of: number): void => runs[of]?.unsubscribe();
    batch.onCancelled = onCancelled;
    for (const run of runs) {
      parts.add(run);
      run.add(() => {
        open--;
        if (open === 0) parts.complete();
      });
    }
    // All are there before the first one begins, since its answers may end any of them.
    for (const [of, request] of batch.requests.entries()) {
      const run = runs[of];
      if (run === undefined || run.closed) continue;
      const answering = answersTo(request, of).subscribe(observe(of));
      answering.add(() => run.unsubscribe());
      run.add(answering);
    }
    if (runs.length === 0) parts.complete();
  });
