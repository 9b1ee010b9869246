import type { Part } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { ModelSpec, StateSpec } from '../../streams/inference/model-spec.ts';
import { type Shape, sameShape } from '../../streams/tensors/shape.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';

type StatefulSpec = Pick<ModelSpec, 'name' | 'outputs' | 'maxBatchSize' | 'decoupled' | 'sequenceBatching'>;

/** What all slots of a model have in common. */
interface Plan {
  readonly model: string;
  readonly batches: boolean;
  /** A decoupled model may give answers that leave the states alone. */
  readonly mayOmit: boolean;
  readonly states: readonly StateSpec[];
  /** Outputs that only the next step sees. */
  readonly hidden: ReadonlySet<string>;
}

const plans = new WeakMap<StatefulSpec, Plan>();

const planOf = (spec: StatefulSpec): Plan => {
  const known = plans.get(spec);
  if (known !== undefined) return known;
  const states = spec.sequenceBatching?.states ?? [];
  const shown = new Set(spec.outputs.map(({ name }) => name));
  const plan: Plan = {
    model: spec.name,
    batches: spec.maxBatchSize > 0,
    mayOmit: spec.decoupled,
    states,
    hidden: new Set(states.map(({ outputName }) => outputName).filter((name) => name !== '' && !shown.has(name))),
  };
  plans.set(spec, plan);
  return plan;
};

/**
 * The states of the sequence that has a slot: each output of one step that a `state` of the config names is its input of the next one. Pairs
 * are those of the config's entries; an entry without output keeps its first value. They lie in shared memory that belongs to the slot and is
 * used again for every step.
 */
export class ImplicitState {
  readonly #plan: Plan;
  readonly #cells: readonly StateCell[];
  #shapeKey = '';

  constructor(spec: StatefulSpec) {
    this.#plan = planOf(spec);
    this.#cells = this.#plan.states.map((state) => new StateCell(state));
  }

  /** Rows of one execution have equal keys: `''` while every state has the shape that it began with. */
  get shapeKey(): string {
    return this.#shapeKey;
  }

  /** A sequence starts, or has left its slot: every state is its initial one, and memory that had grown is given back. */
  reset(): void {
    for (const cell of this.#cells) cell.reset();
    this.#shapeKey = '';
  }

  /** The inputs of the next step. They are valid until that step has ended. */
  addTo(inputs: Map<string, Tensor>): void {
    for (const cell of this.#cells) inputs.set(cell.state.inputName, cell.current());
  }

  /**
   * Keeps the state outputs of a step, and returns what the caller may see: without them, unless they are outputs of the model too. A part
   * with an error changes nothing. One that lacks a state, or has it in another datatype or not in one row, becomes an INTERNAL error and
   * changes nothing; answers of a decoupled model may leave states out.
   */
  take(part: Part): Part {
    if (part.error !== undefined || this.#cells.length === 0) return part;
    const error = this.#faultOf(part.outputs);
    if (error !== undefined) return { ...part, outputs: noTensors, error };
    let isGrown = false;
    for (const cell of this.#cells) {
      const output = part.outputs.get(cell.state.outputName);
      if (output !== undefined) cell.keep(output);
      if (!cell.hasInitialShape) isGrown = true;
    }
    this.#shapeKey = isGrown ? this.#cells.map((cell) => `${cell.shape.join()};`).join('') : '';
    return this.#plan.hidden.size === 0 ? part : { ...part, outputs: without(this.#plan.hidden, part.outputs) };
  }

  #faultOf(outputs: Tensors): InferError | undefined {
    const { model, batches, mayOmit, states } = this.#plan;
    for (const { inputName, outputName, datatype } of states) {
      const output = outputs.get(outputName);
      if (output === undefined) {
        if (mayOmit || outputName === '') continue;
        return stateError(`state '${inputName}' of model '${model}' is missing: the model gave no output '${outputName}'`);
      }
      if (output.datatype !== datatype) {
        const got = `${output.datatype} from output '${outputName}'`;
        return stateError(`unexpected datatype for state '${inputName}' of model '${model}'. Expected ${datatype}, got ${got}`);
      }
      if (batches && output.shape[0] !== 1) {
        const got = `[${output.shape}] from output '${outputName}'`;
        return stateError(`unexpected shape for state '${inputName}' of model '${model}'. Expected a batch dimension of 1, got ${got}`);
      }
    }
    return undefined;
  }
}

/** The states of a row that belongs to no sequence: those that a sequence begins with. */
export const paddingState = (spec: Pick<ModelSpec, 'sequenceBatching'>): ((inputs: Map<string, Tensor>) => void) => {
  const states = spec.sequenceBatching?.states ?? [];
  return (inputs) => {
    for (const { inputName, initial } of states) inputs.set(inputName, initial);
  };
};

const noTensors: Tensors = new Map();

const stateError = (message: string): InferError => new InferError('INTERNAL', message, { reason: 'BACKEND' });

const without = (hidden: ReadonlySet<string>, outputs: Tensors): Tensors => {
  const shown = new Map<string, Tensor>();
  for (const [name, tensor] of outputs) if (!hidden.has(name)) shown.set(name, tensor);
  return shown;
};

/**
 * One state of a slot. Two memories take turns: the running step may still read the one, and give outputs that are views of it, while the
 * other is written.
 */
class StateCell {
  readonly state: StateSpec;
  /** What the running step has. */
  #input: Tensor;
  /** What the following step gets, once it begins. */
  #next: Tensor | undefined;
  /** That of `#input`, unless it is the initial state. */
  #read = new StateMemory();
  #written = new StateMemory();

  constructor(state: StateSpec) {
    this.state = state;
    this.#input = state.initial;
  }

  get shape(): Shape {
    return (this.#next ?? this.#input).shape;
  }

  get hasInitialShape(): boolean {
    return sameShape(this.shape, this.state.initial.shape);
  }

  reset(): void {
    this.#next = undefined;
    this.#input = this.state.initial;
    this.#read.trim();
    this.#written.trim();
  }

  current(): Tensor {
    if (this.#next === undefined) return this.#input;
    [this.#read, this.#written] = [this.#written, this.#read];
    this.#input = this.#next;
    this.#next = undefined;
    return this.#input;
  }

  keep(output: Tensor): void {
    this.#next = this.#written.copy(output);
  }
}

/** A larger memory is given back when its sequence ends. */
export const keptBytes = 64 * 1024;

/** Room for one state, and the tensor that lies there. */
class StateMemory {
  #buffer = noBytes;
  #tensor: Tensor | undefined;

  /** A copy of `source`: the same object as the last time where the shape has stayed. */
  copy(source: Tensor): Tensor {
    const sizeBytes = source.byteLength;
    const capacity = this.#buffer.byteLength;
    if (capacity < sizeBytes) {
      // A state that grows with every step gets a new memory only now and then.
      this.#buffer = Buffer.from(new SharedArrayBuffer(capacity === 0 ? sizeBytes : Math.max(sizeBytes, 2 * capacity)));
      this.#tensor = undefined;
    }
    copyBytes.call(source.buffer, this.#buffer, 0, source.start, source.end);
    if (this.#tensor === undefined || !isLike(this.#tensor, source)) {
      this.#tensor = new Tensor(source.datatype, source.shape, this.#buffer, 0, sizeBytes);
    }
    return this.#tensor;
  }

  trim(): void {
    if (this.#buffer.byteLength <= keptBytes) return;
    this.#buffer = noBytes;
    this.#tensor = undefined;
  }
}

const noBytes: Buffer = Buffer.alloc(0);

// At any alignment a fraction of what `set` costs, and no view is made; it takes any Uint8Array for `this`.
const copyBytes = Buffer.prototype.copy;

/** Whether `former` stands for `source` once it has its bytes. The column of a BYTES tensor is a copy, so that it needs a new one. */
const isLike = (former: Tensor, source: Tensor): boolean => source.datatype !== 'BYTES' && sameShape(former.shape, source.shape);
