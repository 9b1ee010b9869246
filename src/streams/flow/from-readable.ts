import { Observable } from 'rxjs';

/** What this file needs of a Node Readable. */
export interface ReadableLike<T> {
  on(event: 'data', listener: (chunk: T) => void): unknown;
  on(event: 'end' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  off(event: 'data', listener: (chunk: T) => void): unknown;
  off(event: 'end' | 'close', listener: () => void): unknown;
  off(event: 'error', listener: (error: unknown) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

export interface FromReadableConfig<T> {
  readonly readable: ReadableLike<T>;
  /** False while the consumer is full, true when it has room again. Until it says anything there is room. */
  readonly open$: Observable<boolean>;
}

/**
 * Reads a Node Readable for as long as the consumer has room.
 *
 * emits when      a chunk comes; after `open$` said false, only what the readable had begun to hand over
 * waits when      `open$` last said false: the readable is paused, and so the peer in the end
 * errors when     the readable or `open$` errors, or the readable closes before its end
 * completes when  the readable ends
 * on unsubscribe  pauses the readable and takes the listeners off; its owner closes it
 */
export const fromReadable = <T>({ readable, open$ }: FromReadableConfig<T>): Observable<T> =>
  new Observable((subscriber) => {
    let isOpen = true;
    const onData = (chunk: T): void => subscriber.next(chunk);
    const onEnd = (): void => subscriber.complete();
    const onError = (error: unknown): void => subscriber.error(error);
    const onClose = (): void => subscriber.error(new Error('the readable closed before its end'));
    subscriber.add(() => {
      readable.off('data', onData);
      readable.off('end', onEnd);
      readable.off('error', onError);
      readable.off('close', onClose);
      readable.pause();
    });
    const demand = open$.subscribe({
      next: (open) => {
        if (open === isOpen) return;
        isOpen = open;
        if (open) readable.resume();
        else readable.pause();
      },
      error: onError,
    });
    subscriber.add(demand);
    if (subscriber.closed) return;
    readable.on('end', onEnd);
    readable.on('error', onError);
    readable.on('close', onClose);
    readable.on('data', onData);
    // Otherwise it was paused when `open$` said so, and a listener alone lets it stay so.
    if (isOpen) readable.resume();
  });
