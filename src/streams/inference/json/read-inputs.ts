import type { Datatype } from '../../tensors/datatype.ts';
import { elementByteSize, isDatatype } from '../../tensors/datatype.ts';
import { JsonValueError } from '../../tensors/json-value-error.ts';
import { jsonValuesByteSize, readJsonValues } from '../../tensors/json-values.ts';
import type { Shape } from '../../tensors/shape.ts';
import { elementCount } from '../../tensors/shape.ts';
import { Tensor, type Tensors } from '../../tensors/tensor.ts';
import { InferError, requestPrefix } from '../error.ts';
import { asUnsigned, findMember, type ReadInteger, requireArray, requireString, unreadable } from './json-members.ts';
import type { JsonDocument } from './parse-document.ts';
import type { ReadRequestOptions } from './read-request.ts';

const largestInt64 = 2n ** 63n - 1n;

/** What the inputs of one request share while they are read. */
interface InputsContext extends ReadRequestOptions {
  readonly document: JsonDocument;
  readonly readInteger: ReadInteger;
  readonly requestId: string;
}

/**
 * Reads `inputs`. Binary ones are ranges of the tail, in the order in which they come; JSON ones are written into one buffer each, whose size
 * comes from the values that are there, not from the shape that is claimed.
 *
 * @throws InferError
 */
export const readInputs = (root: unknown, context: InputsContext): Tensors => {
  const inputs = requireArray(root, 'inputs');
  const tensors = new Map<string, Tensor>();
  const { tail } = context;
  let position = tail.start;
  for (let index = 0; index < inputs.length; index++) {
    const input = inputs[index];
    const kind = contentKind(input);
    const name = requireString(input, 'name');
    const datatype = requireString(input, 'datatype');
    const shape = readShape(name, requireArray(input, 'shape'), context.readInteger);
    if (tensors.has(name)) throw invalid(`${requestPrefix(context.requestId)}input '${name}' already exists in request`);
    if (kind === 'data') {
      tensors.set(name, readJsonTensor(input, index, name, datatype, shape, context));
      continue;
    }
    if (kind === 'shared memory') {
      throw new InferError('UNIMPLEMENTED', `'shared_memory_region' of input '${name}' is not supported by this version of Weir`);
    }
    const size = readBinarySize(input, context.readInteger);
    if (size > tail.end - position) {
      const missing = BigInt(size) - BigInt(tail.end - position);
      throw invalid(`unexpected size for input '${name}', expecting ${missing} additional bytes for model '${context.spec.name}'`);
    }
    const end = position + Number(size);
    tensors.set(name, new Tensor(knownDatatype(name, datatype, context), shape, tail.buffer, position, end));
    position = end;
  }
  if (position !== tail.end) throw invalid(`unexpected additional input data for model '${context.spec.name}'`);
  return tensors;
};

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message);

type ContentKind = 'data' | 'binary' | 'shared memory';

const contentKind = (input: unknown): ContentKind => {
  const parameters = findMember(input, 'parameters');
  const hasData = findMember(input, 'data') !== undefined;
  const hasBinary = findMember(parameters, 'binary_data_size') !== undefined;
  const hasSharedMemory = findMember(parameters, 'shared_memory_region') !== undefined;
  if (hasData && !hasBinary && !hasSharedMemory) return 'data';
  if (hasBinary && !hasData && !hasSharedMemory) return 'binary';
  if (hasSharedMemory && !hasData && !hasBinary) return 'shared memory';
  const found = [hasData ? " 'data'" : '', hasBinary ? " 'binary_data_size'" : '', hasSharedMemory ? " 'shared_memory_region'" : ''].join(
    '',
  );
  throw invalid(
    "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. " +
      `But ${found === '' ? 'no field is set' : `set${found}`}`,
  );
};

const readShape = (name: string, sizes: readonly unknown[], readInteger: ReadInteger): Shape => {
  let count = 1;
  for (const size of sizes) count *= Number(asUnsigned(size, readInteger, "Unable to parse 'shape'"));
  const shape = sizes.map(Number);
  // The product of some of the sizes can be too large though that of all of them is zero.
  if (count !== 0 && count <= Number.MAX_SAFE_INTEGER) return shape;
  let exactCount = 1n;
  for (const size of sizes) {
    const exactSize = BigInt(asUnsigned(size, readInteger, "Unable to parse 'shape'"));
    if (exactSize > largestInt64)
      throw invalid(`invalid shape for input '${name}': shape [${sizes.join(',')}] contains one or more invalid dimensions`);
    exactCount *= exactSize;
    if (exactCount > largestInt64) {
      throw invalid(
        `invalid shape for input '${name}': shape [${sizes.join(',')}] causes total element count to exceed maximum size of ${largestInt64}`,
      );
    }
  }
  return shape;
};

const readBinarySize = (input: unknown, readInteger: ReadInteger): number | bigint =>
  asUnsigned(findMember(findMember(input, 'parameters'), 'binary_data_size'), readInteger, "Unable to parse 'binary_data_size'");

/** A datatype that nobody knows: for data that are not JSON Triton notices when it compares with the model's. */
const knownDatatype = (name: string, datatype: string, { spec, requestId }: InputsContext): Datatype => {
  if (isDatatype(datatype)) return datatype;
  const wanted = spec.inputs.find((input) => input.name === name);
  if (wanted === undefined) throw invalid(`unexpected inference input '${name}' for model '${spec.name}'`);
  throw invalid(
    `${requestPrefix(requestId)}inference input '${name}' data-type is '<invalid>', but model '${spec.name}' expects '${wanted.datatype}'`,
  );
};

const integerDatatype = /^U?INT/;

const readJsonTensor = (input: unknown, index: number, name: string, datatype: string, shape: Shape, context: InputsContext): Tensor => {
  const values = requireArray(input, 'data');
  if (!isDatatype(datatype)) throw invalid(`invalid datatype for input ${name}`);
  const count = elementCount(shape);
  if (count === 0 && values.length === 0) return new Tensor(datatype, shape, Buffer.alloc(0));
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw invalid(`receiving ${datatype} data via JSON is not supported. Please use the binary data format for input ${name}`);
  }
  checkClaimedSize(name, datatype, shape, count, context.maxInputBytes);
  const exactValues = integerDatatype.test(datatype) && context.document.hasFractions ? exactData(context.document, index) : values;
  try {
    const byteSize =
      datatype === 'BYTES' || values.length < count ? jsonValuesByteSize(datatype, values, count) : count * elementByteSize(datatype);
    checkByteSize(name, byteSize, context.maxInputBytes);
    const buffer = Buffer.allocUnsafe(byteSize);
    return new Tensor(datatype, shape, buffer, 0, readJsonValues(datatype, exactValues, count, buffer));
  } catch (error) {
    throw dataError(error, datatype);
  }
};

/** Before any value is looked at: what the shape alone claims. A BYTES element has at least its length. */
const checkClaimedSize = (name: string, datatype: Datatype, shape: Shape, count: number, maxInputBytes: number): void => {
  const elementSize = datatype === 'BYTES' ? 4 : elementByteSize(datatype);
  const claimed = BigInt(count) * BigInt(elementSize);
  if (claimed > largestInt64) {
    const exactCount = shape.reduce((product, size) => product * BigInt(size), 1n);
    throw invalid(
      `byte size overflow for input '${name}': element count (${exactCount}) * data type size (${elementSize}) exceeds maximum allowed size (${largestInt64})`,
    );
  }
  if (datatype !== 'BYTES') checkByteSize(name, claimed, maxInputBytes);
};

const checkByteSize = (name: string, byteSize: number | bigint, maxInputBytes: number): void => {
  if (byteSize <= maxInputBytes) return;
  throw invalid(
    `JSON input '${name}' has a byte_size (${byteSize} bytes) that exceeds the maximum allowed value of ${maxInputBytes} bytes. Use --http-max-input-size to increase the limit.`,
  );
};

/** The data of one input with integers and fractions apart: a fraction written as `1.0` is none that an integer tensor takes, as in Triton. */
const exactData = (document: JsonDocument, index: number): unknown => {
  const data = requireArray(requireArray(document.exactRoot, 'inputs')[index], 'data');
  return withoutDoubles(data);
};

const withoutDoubles = (values: readonly unknown[]): readonly unknown[] =>
  values.map((value) => {
    if (Array.isArray(value)) return withoutDoubles(value);
    return typeof value === 'number' ? undefined : value;
  });

const dataError = (error: unknown, datatype: Datatype): unknown => {
  if (!(error instanceof JsonValueError)) return error;
  switch (error.problem) {
    case 'too-few':
      return new InferError('INTERNAL', "Failed to parse 'data' field: shape does not match true shape");
    case 'too-many':
      return unreadable("Unable to parse 'data'", `${datatype === 'BYTES' ? 'shape' : 'Shape'} does not match true shape of 'data' field`);
    case 'too-deep':
      return invalid('JSON nesting depth exceeds maximum allowed limit (100)');
    default:
      return unreadable(datatype === 'BYTES' ? 'Unable to parse JSON bytes array' : "Unable to parse 'data'", error.message);
  }
};
