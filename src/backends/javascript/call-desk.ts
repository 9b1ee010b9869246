import { Subject, takeUntil } from 'rxjs';
import { AnswersAhead, refusedAhead } from '../../streams/inference/answers-ahead.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import type { Caller, InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import { packTensors, unpackTensors } from './packed-tensors.ts';
import { fromWireParameters, toWireParameters } from './wire-parameters.ts';
import type { CallMade, ToWorker, WireError } from './worker-protocol.ts';

/** A call under way. */
class OpenCall {
  readonly slot: number;
  readonly of: number;
  readonly model: string;
  readonly answers: CallMade['answers'];
  /** Ends the call, also one that answers before `subscribe` has returned. */
  readonly stop = new Subject<void>();
  /** Of answers that wait in the worker to be read. */
  readonly ahead = new AnswersAhead();
  received = 0;

  constructor({ slot, of, model, answers }: CallMade) {
    this.slot = slot;
    this.of = of;
    this.model = model;
    this.answers = answers;
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
    const request = requestOf(message, { modelName, caller: callerOf(message, requests) }, open.ahead);
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
  read(call: number, count: number, bytes: number): void {
    this.#open[call]?.ahead.take(count, bytes);
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
    if (open.ahead.isTooFar) {
      const text = `more answers of model '${open.model}' than ${refusedAhead.answers}, or ${refusedAhead.bytes} bytes, wait to be read`;
      this.#end(call, new InferError('RESOURCE_EXHAUSTED', text));
      return;
    }
    if (open.answers === 'many') open.ahead.give(memory.byteLength);
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

const requestOf = (message: CallMade, caller: Caller, ahead: AnswersAhead): InferRequest => ({
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
  demand: message.answers === 'many' ? ahead : undefined,
});
