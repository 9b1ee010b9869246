import { firstAnswer, firstMark, requestFields } from './batch-layout.ts';
import { BatchRequest, nextTensor, type ReadMemory, readTensor } from './batch-request.ts';
import { Execution } from './execution.ts';
import { kindOf } from './kind-of.ts';
import type { ModelAnswer, ModelResponse, ModelResponses } from './model-answer.ts';
import type { LoadContext } from './model-context.ts';
import { type Model, ModelError } from './model-module.ts';
import { SlotOutputs } from './slot-outputs.ts';
import type { SlotState } from './slot-state.ts';
import type { TensorView } from './tensor-view.ts';
import { detailOf, wireErrorOf } from './wire-error.ts';
import type { WorkerCalls } from './worker-calls.ts';
import type { WorkerPorts } from './worker-ports.ts';
import { answerMessage, answerMessages, type FromWorker, mostUnread } from './worker-protocol.ts';
import { type AnswerTarget, writeAnswer } from './write-answer.ts';

/** Bytes of answers that may wait to be read. */
const mostUnreadBytes = 4 * 2 ** 20;

/** Answers of a generator after which the event loop has its turn, whatever the generator waits for. */
const answersInTurn = 64;

export interface SlotRunnerConfig {
  readonly slot: number;
  readonly state: SlotState;
  readonly model: Model;
  readonly ports: WorkerPorts;
  readonly load: LoadContext;
  readonly calls: WorkerCalls;
  readonly post: (message: FromWorker) => void;
  readonly postNumber: (message: number) => void;
  /** The main thread's clock, where somebody asks when a batch began. */
  readonly clock: (() => number) | undefined;
  /** `execute` has returned, and the batch is not over. */
  readonly onPending: () => void;
  readonly onEnded: () => void;
}

const noWholes: ReadonlyMap<string, TensorView> = new Map();

const isResponses = (value: unknown): value is ModelResponses => Array.isArray(value);

const isPromise = (value: object): value is PromiseLike<ModelResponses | undefined> => 'then' in value && typeof value.then === 'function';

/** The worker's side of a slot: runs the batch that lies in it and leaves the answers there. */
export class SlotRunner {
  readonly #config: SlotRunnerConfig;
  readonly #outputs: SlotOutputs;
  #memory: ReadMemory = readMemory(new SharedArrayBuffer(0));
  #execution: Execution | undefined;
  #startMs = 0;
  /** Of a generator. */
  #sent = 0;
  #isCancelled = false;
  #onRead: (() => void) | undefined;
  /** `execute` has returned, and its answers are still to come. */
  isPending = false;
  /** The main thread has been told that it may send another batch in its stead. */
  isReleased = false;

  constructor(config: SlotRunnerConfig) {
    this.#config = config;
    this.#outputs = new SlotOutputs(config.slot, config.post);
  }

  useInputs(shared: SharedArrayBuffer): void {
    this.#memory = readMemory(shared);
  }

  start(): void {
    const { state, clock, model, load, calls, slot } = this.#config;
    this.isPending = false;
    this.isReleased = false;
    this.#isCancelled = false;
    this.#startMs = performance.now();
    if (clock !== undefined) state.beganMs = clock();
    this.#outputs.reset();
    if (state.isAbandoned) {
      this.#finish(undefined, 0);
      return;
    }
    const execution = new Execution({ ...this.#readBatch(), slot, outputs: this.#outputs, calls, load });
    this.#execution = execution;
    try {
      const result = model.execute(execution.requests, execution);
      if (isResponses(result)) this.#answerAll(execution, result);
      else if (result === undefined) this.#finish(execution, 0);
      else if (typeof result !== 'object' || result === null) throw notAnArray(result);
      else if (isPromise(result)) this.#settle(execution, result);
      else if (!(Symbol.asyncIterator in result) && !(Symbol.iterator in result)) throw notAnArray(result);
      else this.#stream(execution, result).catch((error: unknown) => this.#fail(execution, error));
    } catch (error) {
      this.#fail(execution, error);
    }
  }

  /** The callers of a request, or with −1 of all, have gone. */
  cancel(of: number): void {
    this.#isCancelled = of === -1;
    const requests = this.#execution?.requests ?? [];
    for (const request of requests) if (of === -1 || request.of === of) request.abort();
    if (of === -1) this.read();
  }

  /** The main thread has read what it was to tell of. */
  read(): void {
    const onRead = this.#onRead;
    this.#onRead = undefined;
    onRead?.();
  }

  #readBatch(): { readonly requests: readonly BatchRequest[]; readonly wholes: ReadonlyMap<string, TensorView> } {
    const { ports } = this.#config;
    const { words } = this.#memory;
    const count = words[0] ?? 0;
    let at = firstMark + count;
    let wholes = noWholes;
    if (ports.wholes.length > 0) {
      const views = new Map<string, TensorView>();
      for (const { name, datatype } of ports.wholes) {
        const view = readTensor(this.#memory, at, datatype);
        if (view !== undefined) views.set(name, view);
        at = nextTensor(words, at);
      }
      wholes = views;
    }
    const requests: BatchRequest[] = [];
    for (let of = 0; of < count; of++) {
      requests.push(new BatchRequest(of, this.#memory, ports, at));
      at += words[at + requestFields.length] ?? 0;
    }
    // Answers go by the order of this list: a model that sorts it would mix its callers up.
    return { requests: Object.freeze(requests), wholes };
  }

  #settle(execution: Execution, result: PromiseLike<ModelResponses | undefined>): void {
    // One that is not JavaScript's own may call back at any time, and twice.
    Promise.resolve(result).then(
      (answers) => {
        try {
          this.#answerAll(execution, answers ?? []);
        } catch (error) {
          this.#fail(execution, error);
        }
      },
      (error: unknown) => this.#fail(execution, error),
    );
    // Most promises of an execution that awaits nothing outside it are fulfilled by then.
    this.#pendSoon(execution);
  }

  #pendSoon(execution: Execution): void {
    setImmediate(() => {
      if (this.#execution !== execution) return;
      this.isPending = true;
      this.#config.onPending();
    });
  }

  #answerAll(execution: Execution, answers: ModelResponses): void {
    const { requests } = execution;
    if (!isResponses(answers)) throw notAnArray(answers);
    if (answers.length !== requests.length && answers.length > 0) {
      throw new ModelError(`execute returned ${answers.length} responses for ${requests.length} requests`);
    }
    const target = this.#target('shared');
    let at = firstAnswer;
    let count = 0;
    for (const request of requests) {
      const answer: ModelResponse | ModelError | undefined = answers[request.of];
      if (answer === undefined) continue;
      at = writeAnswer(target, at, request, answer, true);
      count++;
    }
    this.#finish(execution, count);
  }

  async #stream(execution: Execution, answers: AsyncIterable<ModelAnswer> | Iterable<ModelAnswer>): Promise<void> {
    const { state, slot, postNumber } = this.#config;
    execution.isStreaming = true;
    this.#outputs.leave();
    this.#sent = 0;
    let at = firstAnswer;
    this.#pendSoon(execution);
    const target = this.#target('copied');
    for await (const answer of answers) {
      if (state.isAbandoned) {
        // What ends the generator tells it why, though the message that says so may still be on its way.
        for (const request of execution.requests) request.abort();
        break;
      }
      requireAnswer(execution, answer);
      if (state.read === this.#sent) {
        this.#outputs.reset();
        at = firstAnswer;
      }
      const next = writeAnswer(target, at, requestOf(execution, answer), answer, answer.isLast === true);
      this.#sent++;
      postNumber(answerMessage(slot, answerMessages.answer, at));
      at = next;
      if (this.#sent - state.read >= mostUnread || this.#outputs.size > mostUnreadBytes) await this.#untilRead();
      else if (this.#sent % answersInTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    this.#finish(execution, 0);
  }

  #untilRead(): Promise<void> {
    const { state } = this.#config;
    return new Promise((resolve) => {
      this.#onRead = resolve;
      state.awaited = this.#sent;
      // It may have read all before it could see that somebody waits.
      if (state.read !== this.#sent && !this.#isCancelled) return;
      state.awaited = 0;
      this.read();
    });
  }

  #target(sharing: AnswerTarget['sharing']): AnswerTarget {
    const { ports, load } = this.#config;
    return { outputs: this.#outputs, inputs: this.#memory.buffer.buffer, ports, sharing, onFault: load.logger.error };
  }

  #finish(execution: Execution | undefined, count: number): void {
    if (this.#execution !== execution) return;
    const { slot, state, postNumber } = this.#config;
    this.#outputs.words[0] = count;
    state.runMs = performance.now() - this.#startMs;
    this.#end(() => postNumber(answerMessage(slot, answerMessages.done)));
  }

  #fail(execution: Execution, error: unknown): void {
    if (this.#execution !== execution) return;
    const { slot, post, load } = this.#config;
    const message = (text: string): string => `Failed to process the request(s) for model '${load.instance.name}', message: ${text}`;
    const wire = wireErrorOf(error, (text) => ({ code: 'INTERNAL', message: message(text) }));
    this.#end(() => post({ kind: 'failed', slot, error: wire, detail: detailOf(error) }));
  }

  #end(tell: () => void): void {
    if (this.#execution !== undefined) this.#execution.isOver = true;
    this.#execution = undefined;
    this.isPending = false;
    tell();
    this.#config.onEnded();
  }
}

const notAnArray = (value: unknown): ModelError => new ModelError(`execute returned ${kindOf(value)}: expected an array`);

/** @throws ModelError for what is no answer; the error itself, where it is one that names no request of several */
const requireAnswer = ({ requests }: Execution, answer: unknown): void => {
  if (typeof answer !== 'object' || answer === null) throw new ModelError(`execute gave ${kindOf(answer)}: expected an answer`);
  if (answer instanceof Error && requests.length > 1) throw answer;
};

/** @throws ModelError when a batch of several gets an answer to none of them */
const requestOf = ({ requests }: Execution, { request }: ModelAnswer): BatchRequest => {
  const found = request === undefined && requests.length === 1 ? requests[0] : requests.find((each) => each === request);
  if (found !== undefined) return found;
  throw new ModelError('an answer names no request of its execution');
};

const readMemory = (shared: SharedArrayBuffer): ReadMemory => ({
  buffer: Buffer.from(shared),
  words: new Float64Array(shared),
  longs: new BigUint64Array(shared),
  marks: new Int32Array(shared),
});
