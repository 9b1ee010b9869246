import type { Data } from 'apache-arrow';
import { arrowData } from './arrow-data.ts';
import type { Datatype } from './datatype.ts';
import type { Shape } from './shape.ts';

/**
 * A tensor: its datatype, its shape, and the range of a buffer that holds its elements in the layout of the wire, which is little-endian and
 * row-major; a BYTES element is a 4-byte little-endian length and then its bytes.
 *
 * The buffer belongs to whoever made it. Inside `next()` of an answer the range may be read; whoever keeps a tensor for longer copies it.
 * Names are keys of `Tensors`, not fields.
 */
export class Tensor {
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly buffer: Uint8Array;
  /** First byte of the elements in `buffer`. */
  readonly start: number;
  /** One past the last byte. */
  readonly end: number;
  #data: Data | undefined;

  constructor(datatype: Datatype, shape: Shape, buffer: Uint8Array, start = 0, end = buffer.byteLength) {
    this.datatype = datatype;
    this.shape = shape;
    this.buffer = buffer;
    this.start = start;
    this.end = end;
  }

  get byteLength(): number {
    return this.end - this.start;
  }

  /** The elements as a view of `buffer`. Makes an object: use `buffer`, `start` and `end` where it counts. */
  get bytes(): Uint8Array {
    return this.buffer.subarray(this.start, this.end);
  }

  /** The elements as one flat Arrow column without nulls, made on first use (some 2 µs) and shared with `buffer` where alignment allows. */
  get data(): Data {
    this.#data ??= arrowData(this);
    return this.#data;
  }
}

/** Tensors by name, in the order in which they came. */
export type Tensors = ReadonlyMap<string, Tensor>;
