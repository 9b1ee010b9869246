import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import type { Caller, InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { type Frame, frameFlags, toProcess } from './frames.ts';
import { type CallHead, OpenCall } from './open-call.ts';
import { parametersText, parseParameters } from './parameters-text.ts';
import type { ProcessMemory } from './process-memory.ts';
import { noFields, type PythonProcess } from './python-process.ts';
import { numberOfCode } from './read-answers.ts';
import { datatypeOf } from './tensor-codes.ts';
import { writeAnswer } from './write-answer.ts';

/** Of answers whose memory a process has not given back; past it a call that answers many times ends. */
const mostUnreadBytes = 256 * 2 ** 20;

export interface ModelCallerConfig {
  readonly calls: ModelCalls;
  readonly memory: ProcessMemory;
  readonly process: () => PythonProcess;
  /** Who calls, when it comes out of that batch and goes to that model. */
  readonly callerFrom: (batch: number, model: string) => Caller;
}

const decoupledRefused = (model: string): string =>
  `Model ${model} is using the decoupled. The current BLS request call doesn't support models using the decoupled transaction policy. ` +
  "Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled models.'";

/** Requests that a model's process makes of other models. Its library bounds how many run at once. */
export class ModelCaller {
  readonly #config: ModelCallerConfig;
  #open: OpenCall[] = [];
  #unreadBytes = 0;
  /** Bytes of unread answers by block of this server's memory; 0 for one that holds none. */
  readonly #unread: number[] = [];

  constructor(config: ModelCallerConfig) {
    this.#config = config;
  }

  start(frame: Frame): void {
    const buffer = this.#config.memory.theirs(frame);
    const length = buffer.readUInt32LE(frame.offset);
    const data = frame.offset + buffer.readUInt32LE(frame.offset + 4);
    const head: CallHead = JSON.parse(buffer.toString('utf8', frame.offset + 8, frame.offset + 8 + length));
    const call = new OpenCall(frame, head);
    this.#open.push(call);
    try {
      this.#subscribe(call, this.#requestOf(call, head, buffer, data));
    } catch (error) {
      this.#fail(call, toInferError(error));
    }
  }

  /** The model has taken so many answers of a call. */
  taken({ id, offset, length }: Frame): void {
    this.#open.find((each) => each.id === id)?.take(offset, length);
  }

  cancel(id: number): void {
    const call = this.#open.find((each) => each.id === id);
    if (call !== undefined) this.#cancel(call);
  }

  /** Nobody waits for the batch any more. */
  cancelOf(batch: number): void {
    for (const call of this.#open.filter((each) => each.batch === batch)) this.#cancel(call);
  }

  /** The process has ended. */
  close(): void {
    const open = this.#open;
    this.#open = [];
    for (const call of open) {
      call.isOver = true;
      call.subscription?.unsubscribe();
    }
  }

  /** The process has read the block. */
  wasRead(block: number): void {
    this.#unreadBytes -= this.#unread[block] ?? 0;
    this.#unread[block] = 0;
  }

  #subscribe(call: OpenCall, request: InferRequest): void {
    const { calls } = this.#config;
    const { modelName, modelVersion } = request;
    if (!calls.isReady(modelName, modelVersion)) {
      throw new InferError('UNAVAILABLE', `Failed for execute the inference request. Model '${modelName}' is not ready.`);
    }
    if (!call.isDecoupled && calls.isDecoupled(modelName, modelVersion)) throw new InferError('UNIMPLEMENTED', decoupledRefused(modelName));
    const subscription = calls.infer(request).subscribe({
      next: (response) => this.#answer(call, response),
      error: (error: unknown) => this.#fail(call, toInferError(error)),
      complete: () => this.#complete(call),
    });
    if (call.isOver) subscription.unsubscribe();
    else call.subscription = subscription;
  }

  #requestOf(call: OpenCall, head: CallHead, buffer: Buffer, data: number): InferRequest {
    const inputs = new Map<string, Tensor>();
    for (const [name, code, shape, segment, offset, size] of head.inputs) {
      const memory = segment === 0 ? buffer : this.#config.memory.own(segment - 1);
      const start = segment === 0 ? data + offset : offset;
      inputs.set(name, new Tensor(knownDatatype(name, code), shape, memory, start, start + size));
    }
    return {
      modelName: head.model,
      modelVersion: head.version < 0 ? '' : String(head.version),
      id: head.id,
      inputs,
      outputs: head.outputs.map((name) => ({ name, classification: 0 })),
      parameters: parseParameters(head.parameters),
      sequenceId: head.isText ? head.correlation : BigInt.asUintN(64, BigInt(head.correlation)),
      sequenceStart: (head.flags & 1) !== 0,
      sequenceEnd: (head.flags & 2) !== 0,
      priority: 0n,
      timeoutMicroseconds: BigInt(head.timeout),
      caller: this.#config.callerFrom(head.batch, head.model),
      demand: call.isDecoupled ? call : undefined,
    };
  }

  #answer(call: OpenCall, response: InferResponse): void {
    if (call.isOver) return;
    call.answers++;
    if (response.error !== undefined) {
      if (call.isDecoupled) call.give(0);
      this.#tellError(call, response.error, response.isLast);
    } else {
      if (call.answers > 1 && this.#unreadBytes > mostUnreadBytes) {
        this.#end(call);
        this.#tellError(call, new InferError('RESOURCE_EXHAUSTED', `the model reads its answers from '${call.model}' too slowly`), true);
        return;
      }
      try {
        this.#send(call, response, response.isLast || !call.isDecoupled);
      } catch (error) {
        this.#fail(call, toInferError(error));
        return;
      }
    }
    if (response.isLast || !call.isDecoupled) this.#end(call);
  }

  #complete(call: OpenCall): void {
    if (call.isOver) return;
    this.#end(call);
    if (!call.isDecoupled) this.#tellError(call, new InferError('INTERNAL', `Model ${call.model} has given no response`), true);
    else this.#config.process().send({ ...emptyEnd, id: call.id });
  }

  #send(call: OpenCall, { outputs, parameters }: InferResponse, isLast: boolean): void {
    const { memory } = this.#config;
    const flags = isLast ? frameFlags.isLast : 0;
    const written = writeAnswer(memory, outputs, parametersText(parameters));
    if (call.isDecoupled) call.give(written.length);
    this.#unread[written.block.id] = written.length;
    this.#unreadBytes += written.length;
    memory.lend(toProcess.callAnswer, call.id, written.block, written.length, flags);
  }

  #fail(call: OpenCall, error: InferError): void {
    if (call.isOver) return;
    this.#end(call);
    // What the called model itself says comes as it is; what kept it from running is told with its name.
    const isOfModel = error.reason === 'BACKEND' || isOfEnsemble(error);
    const message = isOfModel ? error.message : `Model ${call.model} - Error when running inference: ${error.message}`;
    this.#tellError(call, new InferError('INTERNAL', message), true);
  }

  #tellError({ id }: OpenCall, { code, message }: InferError, isLast: boolean): void {
    const text = JSON.stringify({ code: numberOfCode(code), message });
    this.#config.process().sendText(toProcess.callAnswer, id, text, { flags: frameFlags.isError | (isLast ? frameFlags.isLast : 0) });
  }

  #cancel(call: OpenCall): void {
    if (call.isOver) return;
    this.#end(call);
    this.#tellError(call, new InferError('CANCELLED', ''), true);
  }

  #end(call: OpenCall): void {
    call.isOver = true;
    this.#open.splice(this.#open.indexOf(call), 1);
    call.subscription?.unsubscribe();
    this.#config.memory.hasRead(call.block, call.length);
  }
}

/** Whatever has failed in an ensemble, its error is its answer. */
const isOfEnsemble = ({ message }: InferError): boolean => message.startsWith("in ensemble '");

const emptyEnd: Frame = { ...noFields, kind: toProcess.callAnswer, flags: frameFlags.isLast };

const knownDatatype = (name: string, code: number): Datatype => {
  const datatype = datatypeOf(code);
  if (datatype === undefined) throw new InferError('INTERNAL', `input '${name}' of a model call has no datatype`);
  return datatype;
};
