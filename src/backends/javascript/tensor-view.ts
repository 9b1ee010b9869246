import { checkBytesElements, visitBytesElements } from '../../streams/tensors/bytes-elements.ts';
import { checkedElementCount } from '../../streams/tensors/checked-element-count.ts';
import { type Datatype, elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount, formatShape, type Shape } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { typedView } from '../../streams/tensors/typed-view.ts';
import { ModelError } from './model-module.ts';
import type { ModelTensor, TensorArrays } from './model-tensor.ts';

/** A tensor as a model sees it: a range of memory, whose array is made when it is asked for. */
export class TensorView implements ModelTensor {
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly #buffer: Buffer;
  readonly #start: number;
  readonly #end: number;
  #data: TensorArrays[Datatype] | undefined;

  constructor(datatype: Datatype, shape: Shape, buffer: Buffer, start: number, end: number) {
    this.datatype = datatype;
    this.shape = shape;
    this.#buffer = buffer;
    this.#start = start;
    this.#end = end;
  }

  get data(): TensorArrays[Datatype] {
    const { datatype } = this;
    this.#data ??= datatype === 'BYTES' ? this.#elements() : typedView(datatype, this.#buffer, this.#start, this.#end);
    return this.#data;
  }

  /**
   * What the model gives back: it may have changed the shape, or have kept the view until its memory held something else.
   *
   * @throws RangeError where these are not the elements of the shape any more
   */
  get tensor(): Tensor {
    const { datatype, shape } = this;
    const count = checkedElementCount(shape);
    const byteLength = this.#end - this.#start;
    if (datatype === 'BYTES') checkBytesElements(this.#buffer, this.#start, this.#end, count);
    else if (count * elementByteSize(datatype) !== byteLength) {
      throw new RangeError(`expected ${count} values for shape ${formatShape(shape)}, got ${byteLength / elementByteSize(datatype)}`);
    }
    return new Tensor(datatype, shape, this.#buffer, this.#start, this.#end);
  }

  strings(): string[] {
    if (this.datatype !== 'BYTES') throw new ModelError(`a tensor of ${this.datatype} has no strings`);
    const strings: string[] = [];
    this.#visit((from, to) => strings.push(this.#buffer.toString('utf8', from, to)));
    return strings;
  }

  #elements(): readonly Buffer[] {
    const elements: Buffer[] = [];
    this.#visit((from, to) => elements.push(this.#buffer.subarray(from, to)));
    return elements;
  }

  #visit(visit: (from: number, to: number) => void): void {
    visitBytesElements(this.#buffer, this.#start, this.#end, elementCount(this.shape), visit);
  }
}

/** Whether it has this datatype, or none is asked for. */
const hasDatatype = <D extends Datatype>(view: ModelTensor, datatype: D | undefined): view is ModelTensor<D> =>
  datatype === undefined || view.datatype === datatype;

/** @throws ModelError INTERNAL for another datatype than the one that is asked for */
export const withDatatype = <D extends Datatype>(name: string, view: ModelTensor, datatype: D | undefined): ModelTensor<D> => {
  if (hasDatatype(view, datatype)) return view;
  throw new ModelError(`tensor '${name}' is ${view.datatype}, not ${datatype}`);
};
