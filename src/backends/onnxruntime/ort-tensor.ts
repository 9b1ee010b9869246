import type { Tensor as OrtTensor, TensorConstructor, TypedTensor } from 'onnxruntime-node';
import { elementLength, lengthPrefixBytes, visitBytesElements, writeBytesElement } from '../../streams/tensors/bytes-elements.ts';
import { elementCount } from '../../streams/tensors/shape.ts';
import type { CarriedDatatype } from './ort-datatypes.ts';
import type { TensorPlace } from './slot-memory.ts';

/** `Tensor` is onnxruntime-node's class, from the module that the worker has loaded. */
type Make = (Tensor: TensorConstructor, memory: SharedArrayBuffer, start: number, count: number, dims: readonly number[]) => OrtTensor;

const makers: Readonly<Record<Exclude<CarriedDatatype, 'BYTES'>, Make>> = {
  BOOL: (Tensor, memory, start, count, dims) => new Tensor('bool', new Uint8Array(memory, start, count), dims),
  UINT8: (Tensor, memory, start, count, dims) => new Tensor('uint8', new Uint8Array(memory, start, count), dims),
  UINT16: (Tensor, memory, start, count, dims) => new Tensor('uint16', new Uint16Array(memory, start, count), dims),
  UINT32: (Tensor, memory, start, count, dims) => new Tensor('uint32', new Uint32Array(memory, start, count), dims),
  UINT64: (Tensor, memory, start, count, dims) => new Tensor('uint64', new BigUint64Array(memory, start, count), dims),
  INT8: (Tensor, memory, start, count, dims) => new Tensor('int8', new Int8Array(memory, start, count), dims),
  INT16: (Tensor, memory, start, count, dims) => new Tensor('int16', new Int16Array(memory, start, count), dims),
  INT32: (Tensor, memory, start, count, dims) => new Tensor('int32', new Int32Array(memory, start, count), dims),
  INT64: (Tensor, memory, start, count, dims) => new Tensor('int64', new BigInt64Array(memory, start, count), dims),
  FP16: (Tensor, memory, start, count, dims) => new Tensor('float16', new Uint16Array(memory, start, count), dims),
  FP32: (Tensor, memory, start, count, dims) => new Tensor('float32', new Float32Array(memory, start, count), dims),
  FP64: (Tensor, memory, start, count, dims) => new Tensor('float64', new Float64Array(memory, start, count), dims),
};

/** A tensor over elements in shared memory, without a copy; strings are read out of it. */
export const ortTensor = (
  Tensor: TensorConstructor,
  datatype: CarriedDatatype,
  memory: Buffer<SharedArrayBuffer>,
  place: TensorPlace,
): OrtTensor => {
  const { start, dims } = place;
  const count = elementCount(dims);
  if (datatype !== 'BYTES') return makers[datatype](Tensor, memory.buffer, start, count, dims);
  const strings: string[] = [];
  visitBytesElements(memory, start, start + place.byteLength, count, (from, to) => {
    strings.push(memory.toString('utf8', from, to));
  });
  return new Tensor('string', strings, dims);
};

const isStrings = (tensor: OrtTensor): tensor is TypedTensor<'string'> => tensor.type === 'string';

/** Bytes of a tensor's elements in the layout of the wire. */
export const wireLength = (tensor: OrtTensor): number => {
  if (isStrings(tensor)) return tensor.data.reduce((sum, element) => sum + lengthPrefixBytes + elementLength(element), 0);
  return ArrayBuffer.isView(tensor.data) ? tensor.data.byteLength : 0;
};

/** Writes a tensor's elements from `start` on. The room must be there. */
export const writeWire = (tensor: OrtTensor, target: Buffer, start: number): void => {
  if (isStrings(tensor)) {
    let at = start;
    for (const element of tensor.data) at = writeBytesElement(target, at, element);
  } else if (ArrayBuffer.isView(tensor.data)) {
    Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength).copy(target, start);
  }
};
