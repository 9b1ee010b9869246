import type { BatchRequest } from './batch-request.ts';
import { ReceivedAnswer } from './call-answer.ts';
import { inputTensor } from './made-tensor.ts';
import type { CallAnswer, CallOptions, ModelCall } from './model-call.ts';
import { ModelError } from './model-module.ts';
import { packTensors } from './packed-tensors.ts';
import { toModelError } from './wire-error.ts';
import { toWireParameters } from './wire-parameters.ts';
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
      let read = 0;
      try {
        while (true) {
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
            read++;
            if (end === undefined && (read === readAtOnce || waiting.length === 0)) {
              post({ kind: 'call-read', call: number, count: read });
              read = 0;
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

  /** @throws ModelError INVALID_ARGUMENT for inputs that are no tensors */
  #make(answers: CallMade['answers'], origin: CallOrigin, call: ModelCall, { signal }: CallOptions, open: OpenCall): number {
    const { tensors, memory } = packTensors(Object.entries(call.inputs).map(([name, made]) => [name, inputTensor(name, made)]));
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
        model: call.model,
        version: call.version ?? '',
        id: call.id ?? origin.request?.id ?? '',
        inputs: tensors,
        memory,
        outputs: call.outputs ?? [],
        parameters: toWireParameters(Object.entries(call.parameters ?? {})),
        sequenceId: typeof call.sequenceId === 'number' ? BigInt(call.sequenceId) : (call.sequenceId ?? 0n),
        sequenceStart: call.sequenceStart === true,
        sequenceEnd: call.sequenceEnd === true,
        priority: BigInt(call.priority ?? 0),
        timeoutMicroseconds: BigInt(call.timeoutMicroseconds ?? 0),
      },
      [memory],
    );
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
    return number;
  }
}
