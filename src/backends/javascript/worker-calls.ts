import type { BatchRequest } from './batch-request.ts';
import { ReceivedAnswer } from './call-answer.ts';
import { givenCall } from './given-call.ts';
import type { CallAnswer, CallOptions, ModelCall } from './model-call.ts';
import { ModelError } from './model-module.ts';
import { packTensors } from './packed-tensors.ts';
import { toModelError } from './wire-error.ts';
import type { CallAnswered, CallMade, FromWorker, WireError } from './worker-protocol.ts';

/** For whom a call is made: the slot of an execution, and its request if there is one alone. */
export interface CallOrigin {
  readonly slot: number;
  readonly request: BatchRequest | undefined;
}

interface OpenCall {
  readonly onAnswer: (answer: CallAnswered) => void;
  readonly onEnd: (error: WireError | undefined) => void;
}

/** Answers that are read before the main thread hears of it. */
const readAtOnce = 16;

/** Calls of a model to other models, which the main thread makes. */
export class WorkerCalls {
  readonly #post: (message: FromWorker, transfer?: readonly ArrayBuffer[]) => void;
  /** By number; a number is used again once the main thread has said that its call has ended. */
  readonly #open: (OpenCall | undefined)[] = [];
  readonly #free: number[] = [];

  constructor(post: (message: FromWorker, transfer?: readonly ArrayBuffer[]) => void) {
    this.#post = post;
  }

  one(origin: CallOrigin, call: ModelCall, options: CallOptions): Promise<CallAnswer> {
    return new Promise((resolve, reject) => {
      let received: CallAnswered | undefined;
      this.#make('one', origin, call, options, {
        onAnswer: (answer) => {
          received = answer;
        },
        onEnd: (error) => {
          const fault = error ?? received?.error;
          if (fault !== undefined) reject(toModelError(fault));
          else if (received === undefined) reject(new ModelError(`model '${call.model}' gave no answer`));
          else resolve(new ReceivedAnswer(received));
        },
      });
    });
  }

  many(origin: CallOrigin, call: ModelCall, options: CallOptions): AsyncIterableIterator<CallAnswer> {
    // What waits here is counted by the main thread, which ends a call that is not read.
    const waiting: CallAnswered[] = [];
    let end: { readonly error: WireError | undefined } | undefined;
    let wake = (): void => {};
    const number = this.#make('many', origin, call, options, {
      onAnswer: (answer) => {
        waiting.push(answer);
        wake();
      },
      onEnd: (error) => {
        end = { error };
        wake();
      },
    });
    const post = this.#post;
    return (async function* () {
      let count = 0;
      let bytes = 0;
      try {
        while (true) {
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
            count++;
            bytes += next.memory.byteLength;
            if (end === undefined && (count === readAtOnce || waiting.length === 0)) {
              post({ kind: 'call-read', call: number, count, bytes });
              count = bytes = 0;
            }
            if (next.error !== undefined) throw toModelError(next.error);
            yield new ReceivedAnswer(next);
          }
          if (end?.error !== undefined) throw toModelError(end.error);
          if (end !== undefined) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        if (end === undefined) post({ kind: 'call-cancelled', call: number });
      }
    })();
  }

  answered(message: CallAnswered): void {
    this.#open[message.call]?.onAnswer(message);
  }

  ended(number: number, error: WireError | undefined): void {
    const open = this.#open[number];
    if (open === undefined) return;
    this.#open[number] = undefined;
    this.#free.push(number);
    open.onEnd(error);
  }

  /** @throws ModelError INTERNAL for what is no call, CANCELLED where it need not begin */
  #make(answers: CallMade['answers'], origin: CallOrigin, call: ModelCall, options: CallOptions, open: OpenCall): number {
    const { signal } = options;
    const { fields, inputs } = givenCall(call, origin.request?.id ?? '', options);
    if (signal?.aborted) throw new ModelError('the call was cancelled', 'CANCELLED');
    const { tensors, memory } = packTensors(inputs);
    const number = this.#free.pop() ?? this.#open.length;
    const cancel = (): void => this.#post({ kind: 'call-cancelled', call: number });
    this.#open[number] = {
      onAnswer: open.onAnswer,
      onEnd: (error) => {
        signal?.removeEventListener('abort', cancel);
        open.onEnd(error);
      },
    };
    this.#post(
      {
        kind: 'call',
        call: number,
        slot: origin.slot,
        of: origin.request?.of ?? -1,
        answers,
        inputs: tensors,
        memory,
        ...fields,
      },
      [memory],
    );
    signal?.addEventListener('abort', cancel, { once: true });
    return number;
  }
}
