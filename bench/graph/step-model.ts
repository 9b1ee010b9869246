import { Tensor, type Tensors } from '../../src/streams/tensors/tensor.ts';

/** Where a state says which step of which sequence it is of. */
const stepAt = 0;
const idAt = 8;

/**
 * INPUT0 as OUTPUT0, and STATE one step further as STATE_OUT, in memory that the next batch overwrites.
 *
 * @throws Error when a row has not the state of the step before, of its own sequence
 */
export class StepModel {
  readonly #states: Tensor[] = [];

  run(row: number, inputs: Tensors): Tensors {
    const [input, state, start, id] = ['INPUT0', 'STATE', 'START', 'CORRID'].map((name) => inputs.get(name));
    if (input === undefined || state === undefined || start === undefined || id === undefined) throw new Error('a tensor is missing');
    this.#states[row] ??= new Tensor(state.datatype, state.shape, Buffer.alloc(state.byteLength));
    const next = this.#states[row];
    const { buffer } = next;
    Buffer.prototype.copy.call(state.buffer, buffer, 0, state.start, state.end);
    const step = Buffer.prototype.readUInt32LE.call(buffer, stepAt);
    const isStart = start.buffer[start.start] === 1;
    const isOwn = Buffer.prototype.compare.call(buffer, id.buffer, id.start, id.end, idAt, idAt + 8) === 0;
    if (isStart ? step !== 0 : step === 0 || !isOwn) throw new Error(`row ${row} has the state of step ${step} of another`);
    Buffer.prototype.writeUInt32LE.call(buffer, step + 1, stepAt);
    Buffer.prototype.copy.call(id.buffer, buffer, idAt, id.start, id.end);
    return new Map([
      ['OUTPUT0', input],
      ['STATE_OUT', next],
    ]);
  }
}
