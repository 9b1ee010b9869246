import { visitBytesElements } from './bytes-elements.ts';
import { bf16ToNumber, fp16ToNumber } from './half.ts';
import { elementCount } from './shape.ts';
import type { Tensor } from './tensor.ts';
import { type TypedView, typedView } from './typed-view.ts';

/**
 * The elements of a tensor in row-major order: a typed array over its buffer where that is aligned, a copy elsewhere. BOOL is a Uint8Array of 0
 * and 1, FP16 and BF16 a Float32Array (a copy: every one of their values is exact there), BYTES an array of views of the buffer.
 */
export const tensorValues = (tensor: Tensor): TypedView | Uint8Array[] => {
  const { datatype, buffer, start, end } = tensor;
  if (datatype === 'BYTES') return bytesViews(tensor);
  const view = typedView(datatype, buffer, start, end);
  if (datatype !== 'FP16' && datatype !== 'BF16') return view;
  const toNumber = datatype === 'FP16' ? fp16ToNumber : bf16ToNumber;
  const numbers = new Float32Array(view.length);
  for (let index = 0; index < view.length; index++) numbers[index] = toNumber(Number(view[index]));
  return numbers;
};

/**
 * The elements of a BYTES tensor as strings.
 *
 * @throws TypeError for another datatype, and for bytes that are no UTF-8 text
 */
export const tensorStrings = (tensor: Tensor): string[] => {
  if (tensor.datatype !== 'BYTES') throw new TypeError(`expected BYTES, got ${tensor.datatype}`);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return bytesViews(tensor).map((bytes) => decoder.decode(bytes));
};

const bytesViews = ({ buffer, start, end, shape }: Tensor): Uint8Array[] => {
  const views: Uint8Array[] = [];
  visitBytesElements(buffer, start, end, elementCount(shape), (from, to) => {
    views.push(buffer.subarray(from, to));
  });
  return views;
};
