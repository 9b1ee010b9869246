import { throwError } from 'rxjs';
import { InferError, requestPrefix } from '../../streams/inference/error.ts';
import type { Layer } from '../../streams/inference/infer.ts';
import type { ControlInput, InputSpec, ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { countBytesElements, lengthPrefixBytes, readLength } from '../../streams/tensors/bytes-elements.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount, formatShape, type Shape } from '../../streams/tensors/shape.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';

const largestInt64 = 2n ** 63n - 1n;

/** Bytes of a string id. */
const longestSequenceId = 128;

const batchNote =
  'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. ' +
  'If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. ' +
  'See the model configuration docs for more info on max_batch_size.';

/** What checking needs to know of one model, made once. */
interface Checks {
  readonly model: string;
  readonly maxBatchSize: number;
  /** Dimensions before the config's own: 1 where the model batches. */
  readonly batchAxes: number;
  readonly inputs: ReadonlyMap<string, InputSpec>;
  readonly required: readonly string[];
  readonly outputs: ReadonlySet<string>;
  /** The control input that holds sequence ids. */
  readonly ids: Extract<ControlInput, { readonly kind: 'CORRID' }> | undefined;
}

/**
 * Lets only requests through that fit the model; the others end in an INVALID_ARGUMENT error of the answer. Order of the checks and their texts
 * are Triton's. Departures, each from something that crashes or slips through there: the number of elements that a shape claims is
 * compared with the bytes that came before anyone allocates by it; a batch of no rows is always refused; a required input
 * that is missing is refused even where optional ones make up the number. A request that fits costs no allocation.
 */
export const validateRequest = (spec: ModelSpec): Layer => {
  const inputs = new Map(spec.inputs.map((input) => [input.name, input]));
  const checks: Checks = {
    model: spec.name,
    maxBatchSize: spec.maxBatchSize,
    batchAxes: spec.maxBatchSize > 0 ? 1 : 0,
    inputs,
    required: [...inputs.values()].filter((input) => !input.optional).map((input) => input.name),
    outputs: new Set(spec.outputs.map((output) => output.name)),
    ids: spec.sequenceBatching?.controls.find((control) => control.kind === 'CORRID'),
  };
  return (next) => (request) => {
    const fault = findFault(checks, request);
    if (fault === undefined) return next(request);
    return throwError(() => fault);
  };
};

const findFault = (checks: Checks, request: InferRequest): InferError | undefined => {
  if (typeof request.sequenceId === 'string' && Buffer.byteLength(request.sequenceId) > longestSequenceId) return longIdFault();
  for (const { name } of request.outputs) {
    // Triton prefixes neither of the two messages about unknown names.
    if (!checks.outputs.has(name)) return invalid(`unexpected inference output '${name}' for model '${checks.model}'`);
  }
  const text = inputCountFault(checks, request) ?? batchFault(checks, request);
  if (text !== undefined) return prefixed(request, text);
  let requiredGiven = 0;
  for (const [name, tensor] of request.inputs) {
    const input = checks.inputs.get(name);
    if (input === undefined) return invalid(`unexpected inference input '${name}' for model '${checks.model}'`);
    const inputText = inputFault(checks, input, tensor);
    if (inputText === isCutOff) return invalid(cutStringFault(name, tensor));
    if (inputText !== undefined) return prefixed(request, inputText);
    if (!input.optional) requiredGiven++;
  }
  if (requiredGiven < checks.required.length) return prefixed(request, missingInputs(checks, request));
  return checks.ids === undefined ? undefined : idFault(checks.model, checks.ids, request);
};

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message);
const prefixed = ({ id }: InferRequest, text: string): InferError => invalid(requestPrefix(id) + text);

/** Triton prefixes it no more than the unknown names, and has a code of its own for it. */
const longIdFault = (): InferError =>
  new InferError('UNIMPLEMENTED', `string correlation ID cannot be longer than ${longestSequenceId} characters`);

/** No id at all is the scheduler's concern. */
const idFault = (model: string, { name, datatype }: NonNullable<Checks['ids']>, request: InferRequest): InferError | undefined => {
  const { sequenceId } = request;
  const isText = typeof sequenceId === 'string';
  if (isText === (datatype === 'BYTES') || sequenceId === 0n || sequenceId === '') return undefined;
  const text = `sequence batching control '${name}' data-type is '${isText ? 'BYTES' : 'UINT64'}', but model '${model}' expects '${datatype}'`;
  return prefixed(request, text);
};

const inputCountFault = (checks: Checks, request: InferRequest): string | undefined => {
  const { size } = request.inputs;
  return size > checks.inputs.size || size < checks.required.length ? missingInputs(checks, request) : undefined;
};

const missingInputs = ({ model, inputs, required }: Checks, request: InferRequest): string => {
  const given = [...request.inputs.keys()].map((name) => `'${name}'`).join();
  const missing = required.filter((name) => !request.inputs.has(name)).map((name) => `'${name}'`);
  const wanted =
    required.length === inputs.size ? `${inputs.size} inputs` : `number of inputs between ${required.length} and ${inputs.size}`;
  return (
    `expected ${wanted} but got ${request.inputs.size} inputs for model '${model}'. Got input(s) [${given}], ` +
    // With nothing missing Triton's text has no opening bracket.
    `but missing required input(s) ${missing.length === 0 ? '' : '['}${missing.join()}]. Please provide all required input(s).`
  );
};

const batchFault = ({ model, maxBatchSize }: Checks, request: InferRequest): string | undefined => {
  if (maxBatchSize === 0) return undefined;
  let rows = 0;
  for (const [name, { shape }] of request.inputs) {
    const first = shape[0];
    if (first === undefined) return `input '${name}' has no shape but model requires batch dimension for '${model}'`;
    if (first < 0 || !Number.isInteger(first)) return invalidDimension(name, shape);
    if (rows === 0) rows = first;
    else if (first !== rows) return `input '${name}' batch size does not match other inputs for '${model}'`;
  }
  return rows > maxBatchSize ? `inference request batch-size must be <= ${maxBatchSize} for '${model}'` : undefined;
};

const invalidDimension = (name: string, shape: Shape): string =>
  `tensor '${name}' contains an invalid dimension in shape ${formatShape(shape)}`;

const inputFault = (checks: Checks, input: InputSpec, tensor: Tensor): string | undefined => {
  const { model } = checks;
  const { name } = input;
  if (tensor.datatype !== input.datatype) {
    return `inference input '${name}' data-type is '${tensor.datatype}', but model '${model}' expects '${input.datatype}'`;
  }
  const shapeText = shapeFault(checks, input, tensor.shape);
  if (shapeText !== undefined) return shapeText;
  const count = elementCount(tensor.shape);
  const size = elementByteSize(tensor.datatype);
  if (count * Math.max(1, size) > Number.MAX_SAFE_INTEGER) {
    const overflow = overflowFault(name, tensor.shape, size);
    if (overflow !== undefined) return overflow;
  }
  if (checks.batchAxes > 0 && tensor.shape[0] === 0) return noRowsFault(checks, input, tensor);
  if (size === 0) return bytesFault(model, name, tensor, count);
  const byteLength = tensor.end - tensor.start;
  return byteLength === count * size ? undefined : byteSizeFault(model, name, count * size, byteLength);
};

const byteSizeFault = (model: string, name: string, expected: number, got: number): string =>
  `input byte size mismatch for input '${name}' for model '${model}'. Expected ${expected}, got ${got}`;

const shapeFault = ({ model, batchAxes }: Checks, { name, dims }: InputSpec, shape: Shape): string | undefined => {
  let isExpected = shape.length === dims.length + batchAxes;
  for (let axis = 0; isExpected && axis < dims.length; axis++) {
    const size = shape[axis + batchAxes] ?? 0;
    if (size < 0) return `All input dimensions should be specified for input '${name}' for model '${model}', got ${formatShape(shape)}`;
    if (!Number.isInteger(size)) return invalidDimension(name, shape);
    isExpected = dims[axis] === -1 || dims[axis] === size;
  }
  if (isExpected) return undefined;
  const wanted = batchAxes > 0 ? [-1, ...dims] : dims;
  return (
    `unexpected shape for input '${name}' for model '${model}'. Expected ${formatShape(wanted)}, got ${formatShape(shape)}. ` +
    (batchAxes > 0 ? batchNote : '')
  );
};

/** Exact, for shapes whose element count a double no longer holds. */
const overflowFault = (name: string, shape: Shape, elementBytes: number): string | undefined => {
  const count = shape.reduce((product, size) => product * BigInt(size), 1n);
  if (count > largestInt64) return `element count for tensor '${name}' exceeds maximum size of ${largestInt64}`;
  if (count * BigInt(elementBytes) > largestInt64) return `byte size for tensor '${name}' exceeds maximum size of ${largestInt64}`;
  return undefined;
};

/**
 * Triton takes a batch of 0 for a batch of unknown size and then misses the bytes of one row, or of as many as another input has. Where there
 * are none to miss it would run the model on nothing.
 */
const noRowsFault = ({ model }: Checks, { name }: InputSpec, tensor: Tensor): string => {
  const perRow = elementCount(tensor.shape.slice(1));
  const size = elementByteSize(tensor.datatype);
  if (perRow === 0) return `inference request batch-size must be >= 1 for '${model}'`;
  if (size === 0) return `expected ${perRow} string elements for inference input '${name}' for model '${model}', got 0`;
  return byteSizeFault(model, name, perRow * size, tensor.end - tensor.start);
};

const bytesFault = (model: string, name: string, { buffer, start, end }: Tensor, expected: number): string | undefined => {
  const found = countBytesElements(buffer, start, end, expected);
  if (found === expected) return undefined;
  if (found > expected)
    return `unexpected number of string elements ${found} for inference input '${name}' for model '${model}', expecting ${expected}`;
  if (found >= 0) return `expected ${expected} string elements for inference input '${name}' for model '${model}', got ${found}`;
  const broken = ~found;
  if (end - broken < lengthPrefixBytes) {
    return (
      `incomplete string length indicator for inference input '${name}' for model '${model}', expecting 4 bytes but only ${end - broken} bytes ` +
      'available. Please make sure the string length indicator is in one buffer.'
    );
  }
  // Triton counts an element whose bytes are cut off.
  const count = countBytesElements(buffer, start, broken) + 1;
  return count < expected
    ? `expected ${expected} string elements for inference input '${name}' for model '${model}', got ${count}`
    : isCutOff;
};

/** The one fault whose message has no prefix. */
const isCutOff = 'the last string is cut off';

/** A last string with fewer bytes than its length says. Triton finds it only when it runs the model, and so without the prefix. */
const cutStringFault = (name: string, { buffer, start, end }: Tensor): string => {
  const broken = ~countBytesElements(buffer, start, end);
  const available = end - broken - lengthPrefixBytes;
  return `incomplete string data for inference input '${name}', expecting string of length ${readLength(buffer, broken)} but only ${available} bytes available`;
};
