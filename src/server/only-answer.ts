import { Observable, type OperatorFunction } from 'rxjs';
import { InferError } from '../streams/inference/error.ts';

/**
 * Lets the one answer of a request through.
 *
 * emits when      the request has ended and has had one answer
 * waits when      the request has not ended
 * errors when     the request does, or has no answer, or as soon as it has a second one, which cancels it
 * completes when  it has emitted
 * on unsubscribe  cancels the request
 */
export const onlyAnswer =
  <T>(modelName: string): OperatorFunction<T, T> =>
  (source) =>
    new Observable((subscriber) => {
      const wrongCount = (count: string): InferError =>
        new InferError('UNIMPLEMENTED', `model '${modelName}' gave ${count}: take them as a stream, with infer()`);
      let answer: { readonly value: T } | undefined;
      return source.subscribe({
        next: (value) => {
          if (answer === undefined) answer = { value };
          else subscriber.error(wrongCount('more than one answer'));
        },
        error: (error) => subscriber.error(error),
        complete: () => {
          if (answer === undefined) return subscriber.error(wrongCount('no answer'));
          subscriber.next(answer.value);
          subscriber.complete();
        },
      });
    });
