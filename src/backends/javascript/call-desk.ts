import { Subject, takeUntil } from 'rxjs';
import type { Demand } from '../../streams/flow/demand.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import type { Caller, InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import { packTensors, unpackTensors } from './packed-tensors.ts';
import { fromWireParameters, toWireParameters } from './wire-parameters.ts';
import type { CallMade, ToWorker, WireError } from './worker-protocol.ts';

/** Answers that may wait in the worker to be read: first mark, above which a model that can wait does so, and second, above which the call ends. */
const marks = { answers: [64, 1024], bytes: [4 * 2 ** 20, 64 * 2 ** 20] } as const;

/** A call under way, and how much room there is for more answers. */
class OpenCall implements Demand {
  readonly slot: number;
  readonly of: number;
  readonly model: string;
  readonly answers: CallMade['answers'];
  /** Ends the call, also one that answers before `subscribe` has returned. */
  readonly stop = new Subject<void>();
  onOpen: (() => void) | undefined;
  received = 0;
  /** Bytes of each answer that was not read yet, and of all. */
  readonly #unread: number[] = [];
  #unreadBytes = 0;

  constructor({ slot, of, model, answers }: CallMade) {
    this.slot = slot;
    this.of = of;
    this.model = model;
    this.answers = answers;
  }

  get isOpen(): boolean {
    return this.#hasRoom(0);
  }

  get isFull(): boolean {
    return !this.#hasRoom(1);
  }

  add(bytes: number): void {
    this.#unread.push(bytes);
    this.#unreadBytes += bytes;
  }

  read(count: number): void {
    const wasOpen = this.isOpen;
    for (const bytes of this.#unread.splice(0, count)) this.#unreadBytes -= bytes;
    if (!wasOpen && this.isOpen) this.onOpen?.();
  }

  #hasRoom(mark: 0 | 1): boolean {
    return this.#unread.length < marks.answers[mark] && this.#unreadBytes < marks.bytes[mark];
  }
}

export interface CallDeskConfig {
  readonly modelName: string;
  readonly calls: ModelCalls;
  readonly post: (message: ToWorker, transfer?: readonly ArrayBuffer[]) => void;
}

/** Makes the calls of one instance's model to other models, and brings it their answers. */
export class CallDesk {
  readonly #config: CallDeskConfig;
  /** By the worker's number of it. */
  readonly #open: (OpenCall | undefined)[] = [];

  constructor(config: CallDeskConfig) {
    this.#config = config;
  }

  /** @param requests of the execution that calls; undefined when it is over */
  make(message: CallMade, requests: readonly InferRequest[] | undefined): void {
    const { calls, modelName } = this.#config;
    const { call, answers, model } = message;
    const open = new OpenCall(message);
    this.#open[call] = open;
    if (requests === undefined) {
      this.#end(call, cancelled);
      return;
    }
    try {
      if (answers === 'one' && calls.isDecoupled(model, message.version)) throw manyAnswers(model);
    } catch (error) {
      this.#end(call, toInferError(error));
      return;
    }
    const request = requestOf(message, { modelName, caller: callerOf(message, requests) }, open);
    calls
      .infer(request)
      .pipe(takeUntil(open.stop))
      .subscribe({
        next: (response) => this.#answer(call, open, response),
        error: (error: unknown) => this.#end(call, toInferError(error)),
        complete: () => this.#end(call, undefined),
      });
  }

  /** The model has read so many answers. */
  read(call: number, count: number): void {
    this.#open[call]?.read(count);
  }

  cancel(call: number): void {
    this.#end(call, cancelled);
  }

  /** Cancels what was called for an execution: for one of its requests, or with −1 for any. */
  cancelOf(slot: number, of: number): void {
    for (const [call, open] of this.#open.entries()) {
      if (open?.slot === slot && (of === -1 || open.of === of)) this.#end(call, cancelled);
    }
  }

  /** The worker is gone. */
  close(): void {
    for (const open of this.#open.splice(0)) open?.stop.next();
  }

  #answer(call: number, open: OpenCall, response: InferResponse): void {
    if (this.#open[call] !== open) return;
    open.received++;
    if (open.answers === 'one' && open.received > 1) {
      this.#end(call, manyAnswers(open.model));
      return;
    }
    const { tensors, memory } = packTensors(response.outputs);
    if (open.isFull) {
      const text = `more answers of model '${open.model}' than ${marks.answers[1]}, or ${marks.bytes[1]} bytes, wait to be read`;
      this.#end(call, new InferError('RESOURCE_EXHAUSTED', text));
      return;
    }
    if (open.answers === 'many') open.add(memory.byteLength);
    const { modelName, modelVersion, id, parameters, isLast, error } = response;
    this.#config.post(
      {
        kind: 'call-answered',
        call,
        modelName,
        modelVersion,
        id,
        parameters: toWireParameters(parameters),
        outputs: tensors,
        memory,
        isLast,
        error: error === undefined ? undefined : wireOf(error),
      },
      [memory],
    );
  }

  #end(call: number, error: InferError | undefined): void {
    const open = this.#open[call];
    if (open === undefined) return;
    this.#open[call] = undefined;
    open.stop.next();
    this.#config.post({ kind: 'call-ended', call, error: error === undefined ? undefined : wireOf(error) });
  }
}

const cancelled = new InferError('CANCELLED', 'the call was cancelled', { reason: 'CANCELED' });

const manyAnswers = (model: string): InferError =>
  new InferError('INTERNAL', `model '${model}' is decoupled and may answer any number of times: call it with inferMany`);

const wireOf = ({ code, message }: InferError): WireError => ({ code, message });

const isWaiting = (model: string, caller: Caller | undefined): boolean =>
  caller !== undefined && (caller.modelName === model || isWaiting(model, caller.caller));

/**
 * Who waits for the request that the call is made for. For one that is made for a whole execution all do: then the one that makes a cycle of it,
 * if there is one, so that it is found.
 */
const callerOf = ({ of, model }: CallMade, requests: readonly InferRequest[]): Caller | undefined => {
  if (of !== -1) return requests[of]?.caller;
  return (requests.find(({ caller }) => isWaiting(model, caller)) ?? requests[0])?.caller;
};

const requestOf = (message: CallMade, caller: Caller, demand: Demand): InferRequest => ({
  modelName: message.model,
  modelVersion: message.version,
  id: message.id,
  inputs: unpackTensors(message.inputs, message.memory),
  outputs: message.outputs.map((name) => ({ name, classification: 0 })),
  parameters: fromWireParameters(message.parameters),
  sequenceId: message.sequenceId,
  sequenceStart: message.sequenceStart,
  sequenceEnd: message.sequenceEnd,
  priority: message.priority,
  timeoutMicroseconds: message.timeoutMicroseconds,
  caller,
  demand: message.answers === 'many' ? demand : undefined,
});
