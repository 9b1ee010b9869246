import { skipBytesElements } from './bytes-elements.ts';
import { elementByteSize } from './datatype.ts';
import { elementCount, type Shape } from './shape.ts';
import { Tensor } from './tensor.ts';

/** Thrown when a tensor has fewer rows than its requests: dimension 0 is `got` where at least `expected` is wanted. */
export class MissingRowsError extends RangeError {
  override readonly name = 'MissingRowsError';
  readonly expected: number;
  readonly got: number;

  constructor(expected: number, got: number) {
    super(`expected at least ${expected} rows, got ${got}`);
    this.expected = expected;
    this.got = got;
  }
}

/**
 * Cuts a tensor along dimension 0 into pieces of so many rows each; the pieces are views of its buffer. Rows beyond those asked for are left
 * out. A tensor without dimensions has no rows.
 *
 * @throws MissingRowsError, BytesLayoutError
 */
export const splitRows = (tensor: Tensor, rows: readonly number[]): Tensor[] => {
  const { datatype, shape, buffer, start, end } = tensor;
  const got = shape[0] ?? 0;
  let expected = 0;
  for (const count of rows) expected += count;
  if (expected > got) throw new MissingRowsError(expected, got);
  if (rows.length === 1 && expected === got) return [tensor];
  const elementsPerRow = elementCount(shape.slice(1));
  const rowBytes = elementsPerRow * elementByteSize(datatype);
  const pieces: Tensor[] = [];
  let from = start;
  for (const count of rows) {
    const to = datatype === 'BYTES' ? skipBytesElements(buffer, from, end, count * elementsPerRow) : from + count * rowBytes;
    pieces.push(new Tensor(datatype, withRows(shape, count), buffer, from, to));
    from = to;
  }
  return pieces;
};

const withRows = (shape: Shape, rows: number): Shape => {
  const copy = shape.slice();
  copy[0] = rows;
  return copy;
};
