import type { ModelConfigDocument } from '../../streams/inference/model-spec.ts';
import { checkedElementCount } from '../../streams/tensors/checked-element-count.ts';
import { elementByteSize, isDatatype } from '../../streams/tensors/datatype.ts';
import { typedView } from '../../streams/tensors/typed-view.ts';
import type { BatchRequest } from './batch-request.ts';
import type { CallAnswer, CallOptions, ModelCall } from './model-call.ts';
import type { ExecuteContext, LoadContext } from './model-context.ts';
import { ModelError } from './model-module.ts';
import type { FixedTensorArrays, ModelTensor } from './model-tensor.ts';
import type { SlotOutputs } from './slot-outputs.ts';
import type { TensorView } from './tensor-view.ts';
import type { CallOrigin, WorkerCalls } from './worker-calls.ts';

export interface ExecutionConfig {
  readonly slot: number;
  readonly requests: readonly BatchRequest[];
  readonly wholes: ReadonlyMap<string, TensorView>;
  readonly outputs: SlotOutputs;
  readonly calls: WorkerCalls;
  readonly load: LoadContext;
}

/** What a model sees of one run of a batch. */
export class Execution implements ExecuteContext {
  readonly #config: ExecutionConfig;
  /** Its outputs are copied when it gives them, so it needs no memory of the slot. */
  isStreaming = false;
  isOver = false;

  constructor(config: ExecutionConfig) {
    this.#config = config;
  }

  get requests(): readonly BatchRequest[] {
    return this.#config.requests;
  }

  get modelName(): string {
    return this.#config.load.modelName;
  }

  get modelVersion(): string {
    return this.#config.load.modelVersion;
  }

  get config(): ModelConfigDocument {
    return this.#config.load.config;
  }

  get parameters(): ReadonlyMap<string, string> {
    return this.#config.load.parameters;
  }

  get instance(): LoadContext['instance'] {
    return this.#config.load.instance;
  }

  get modelDirectory(): string {
    return this.#config.load.modelDirectory;
  }

  get versionDirectory(): string {
    return this.#config.load.versionDirectory;
  }

  get logger(): LoadContext['logger'] {
    return this.#config.load.logger;
  }

  get metrics(): LoadContext['metrics'] {
    return this.#config.load.metrics;
  }

  isModelReady(name: string, version?: string): Promise<boolean> {
    return this.#config.load.isModelReady(name, version);
  }

  allocate<D extends keyof FixedTensorArrays>(datatype: D, shape: readonly number[]): FixedTensorArrays[D];
  allocate(datatype: keyof FixedTensorArrays, shape: readonly number[]): FixedTensorArrays[keyof FixedTensorArrays] {
    // Strings have no size until they are there.
    if (!isDatatype(datatype) || elementByteSize(datatype) === 0)
      throw new ModelError(`there is no memory to allocate for ${String(datatype)}`);
    const byteLength = checkedElementCount(shape) * elementByteSize(datatype);
    if (this.isStreaming || this.isOver) return typedView(datatype, new Uint8Array(byteLength), 0, byteLength);
    const { outputs } = this.#config;
    const memory = outputs.take(byteLength);
    const { start } = outputs.lastTaken(byteLength);
    return typedView(datatype, memory.fill(0, start, start + byteLength), start, start + byteLength);
  }

  batchInput(name: string): ModelTensor {
    const view = this.#config.wholes.get(name);
    if (view === undefined) throw new ModelError(`the batch has no input '${name}'`);
    return view;
  }

  infer(call: ModelCall, options: CallOptions = {}): Promise<CallAnswer> {
    const answer = this.#ask(call, options);
    // A model that starts several calls and ends with the first that fails does not look at the others: that is no fault of the thread.
    answer.catch(() => {});
    return answer;
  }

  inferMany(call: ModelCall, options: CallOptions = {}): AsyncIterableIterator<CallAnswer> {
    return this.#config.calls.many(this.#origin(options), call, options);
  }

  async #ask(call: ModelCall, options: CallOptions): Promise<CallAnswer> {
    return this.#config.calls.one(this.#origin(options), call, options);
  }

  #origin({ request }: CallOptions): CallOrigin {
    const { requests, slot } = this.#config;
    if (this.isOver) throw new ModelError('other models can be called only as long as execute runs');
    if (request === undefined) return { slot, request: requests.length === 1 ? requests[0] : undefined };
    const own = requests.find((each) => each === request);
    if (own === undefined) throw new ModelError('a call is made for a request of another execution');
    return { slot, request: own };
  }
}
