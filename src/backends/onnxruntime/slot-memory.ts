/**
 * What main thread and worker say to each other about one slot, beside the tensors' bytes: a block of shared memory, so that a message is
 * one small integer. The main thread writes it before it posts the slot's number, the worker before it posts it back; in between it is the
 * worker's, but for the cancel mark.
 *
 * Numbers are doubles: exact up to 2^53, so sizes need no second thought.
 */
export class SlotMemory {
  readonly shared: SharedArrayBuffer;
  readonly #marks: Int32Array;
  readonly #numbers: Float64Array;
  readonly #inputs: number;

  constructor(inputs: number, outputs: number, shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(8 * (1 + 2 + (inputs + outputs) * tensorFields));
    this.#marks = new Int32Array(this.shared, 0, 2);
    this.#numbers = new Float64Array(this.shared, 8);
    this.#inputs = inputs;
  }

  /** Set by the main thread at any time: a worker that has not begun the batch leaves it. */
  get cancelled(): boolean {
    return Atomics.load(this.#marks, 0) === 1;
  }

  set cancelled(value: boolean) {
    Atomics.store(this.#marks, 0, value ? 1 : 0);
  }

  /** Rows of the whole batch; 1 for a model without batch dimension. */
  get rows(): number {
    return this.#numbers[0] ?? 0;
  }

  set rows(value: number) {
    this.#numbers[0] = value;
  }

  /** How long the model ran, in milliseconds. */
  get runMs(): number {
    return this.#numbers[1] ?? 0;
  }

  set runMs(value: number) {
    this.#numbers[1] = value;
  }

  setInput(index: number, place: TensorPlace): void {
    this.#write(index, place);
  }

  input(index: number): TensorPlace {
    return this.#read(index);
  }

  setOutput(index: number, place: TensorPlace): void {
    this.#write(this.#inputs + index, place);
  }

  output(index: number): TensorPlace {
    return this.#read(this.#inputs + index);
  }

  #write(tensor: number, { area, start, byteLength, dims }: TensorPlace): void {
    const at = 2 + tensor * tensorFields;
    this.#numbers[at] = area;
    this.#numbers[at + 1] = start;
    this.#numbers[at + 2] = byteLength;
    this.#numbers[at + 3] = dims.length;
    for (let axis = 0; axis < dims.length; axis++) this.#numbers[at + 4 + axis] = dims[axis] ?? 0;
  }

  #read(tensor: number): TensorPlace {
    const at = 2 + tensor * tensorFields;
    const numbers = this.#numbers;
    const dims: number[] = [];
    const rank = numbers[at + 3] ?? 0;
    for (let axis = 0; axis < rank; axis++) dims.push(numbers[at + 4 + axis] ?? 0);
    return { area: numbers[at] ?? 0, start: numbers[at + 1] ?? 0, byteLength: numbers[at + 2] ?? 0, dims };
  }
}

/** Where a tensor's elements lie. */
export interface TensorPlace {
  /** Which of the slot's memories: see `outputAreas`; 0 for inputs. */
  readonly area: number;
  readonly start: number;
  readonly byteLength: number;
  readonly dims: readonly number[];
}

/** Outputs whose size is known before the run are written in place by the model; the others are copied into an area of their own. */
export const outputAreas = { inPlace: 0, copied: 1 } as const;

/** Dimensions that a slot has room for. */
export const highestRank = 16;

const tensorFields = 4 + highestRank;

/** Every tensor starts where any processor likes to read it, and any typed array can stand. */
const alignment = 64;

export const alignUp = (offset: number): number => Math.ceil(offset / alignment) * alignment;
