import type { ControlInput, ModelSpec } from '../../streams/inference/model-spec.ts';
import { encodeBytesElements } from '../../streams/tensors/bytes-elements.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import type { Shape } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { tensorFrom } from '../../streams/tensors/tensor-from-values.ts';

/** What the control inputs of one row say. */
export interface RowFlags {
  readonly start: boolean;
  readonly end: boolean;
  /** False for a row that only fills a batch up. */
  readonly ready: boolean;
  /** `0n` or `''` for such a row. */
  readonly sequenceId: bigint | string;
}

type Writer = (inputs: Map<string, Tensor>, row: RowFlags) => void;

/**
 * Adds a sequence model's control inputs to one row: one element each, of shape [1], or [1,1] where the model batches. START, END and READY
 * are one of two tensors made here; CORRID is the id: all 64 bits, the low 32 of them, or as a string, in decimal where it is a number. No
 * id is 0, or the empty string.
 */
export const controlInputs = ({ sequenceBatching, maxBatchSize }: Pick<ModelSpec, 'sequenceBatching' | 'maxBatchSize'>): Writer => {
  const shape = maxBatchSize > 0 ? [1, 1] : [1];
  const writers = (sequenceBatching?.controls ?? []).map((control) => writer(control, shape));
  return (inputs, row) => {
    for (const write of writers) write(inputs, row);
  };
};

const writer = (control: ControlInput, shape: Shape): Writer => {
  if (control.kind === 'CORRID') return idWriter(control.name, control.datatype, shape);
  const { kind, name, datatype } = control;
  const flag = (value: number): Tensor => tensorFrom(datatype, shape, [datatype === 'BOOL' ? value !== 0 : value]);
  const no = flag(control.whenFalse);
  const yes = flag(control.whenTrue);
  switch (kind) {
    case 'START':
      return (inputs, { start }) => void inputs.set(name, start ? yes : no);
    case 'END':
      return (inputs, { end }) => void inputs.set(name, end ? yes : no);
    case 'READY':
      return (inputs, { ready }) => void inputs.set(name, ready ? yes : no);
  }
};

type IdDatatype = Extract<ControlInput, { readonly kind: 'CORRID' }>['datatype'];

const idWriter = (name: string, datatype: IdDatatype, shape: Shape): Writer => {
  if (datatype === 'BYTES') {
    const text = (id: bigint | string): string => (id === 0n ? '' : String(id));
    return (inputs, { sequenceId }) => void inputs.set(name, new Tensor('BYTES', shape, encodeBytesElements([text(sequenceId)])));
  }
  const sizeBytes = elementByteSize(datatype);
  const slab = new IdSlab();
  return (inputs, { sequenceId }) => {
    // A string id was refused where the request came in, unless it is the empty one of a row without sequence.
    const start = slab.write(typeof sequenceId === 'bigint' ? sequenceId : 0n);
    inputs.set(name, new Tensor(datatype, shape, slab.buffer, start, start + sizeBytes));
  };
};

const idBytes = 8;
const slabBytes = 4096;

/** Ids end to end in memory that is never written twice: a view of its own for each would cost more than all the rest. */
class IdSlab {
  buffer = new Uint8Array(slabBytes);
  #view = new DataView(this.buffer.buffer);
  #end = 0;

  /** Little-endian, so that the low 32 bits come first. Returns where it begins in `buffer`. */
  write(id: bigint): number {
    if (this.#end === slabBytes) {
      this.buffer = new Uint8Array(slabBytes);
      this.#view = new DataView(this.buffer.buffer);
      this.#end = 0;
    }
    const start = this.#end;
    this.#view.setBigUint64(start, id, true);
    this.#end += idBytes;
    return start;
  }
}
