import { InferError, requestPrefix } from '../../streams/inference/error.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { type Datatype, elementByteSize, isDatatype } from '../../streams/tensors/datatype.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';
import { sharedMemoryNotSupported, usesSharedMemory } from './parse-shared-memory.ts';
import {
  BOOL,
  BYTES,
  type ContentsCounts,
  countContents,
  FP32,
  FP64,
  INT,
  INT64,
  layOutContents,
  UINT,
  UINT64,
} from './wire/infer-contents.ts';
import type { Ranges, WireInput, WireRequest } from './wire/infer-request.ts';

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message);

/** In the order in which Triton looks at the fields. */
const typedFields = [BOOL, INT, INT64, UINT, UINT64, FP32, FP64, BYTES] as const;

/** What a typed field holds: `int_contents` and `uint_contents` carry the narrower integers too. */
const datatypeOfField = (field: number, wanted: string): Datatype => {
  if (field === BOOL) return 'BOOL';
  if (field === INT) return wanted === 'INT8' || wanted === 'INT16' ? wanted : 'INT32';
  if (field === INT64) return 'INT64';
  if (field === UINT) return wanted === 'UINT8' || wanted === 'UINT16' ? wanted : 'UINT32';
  if (field === UINT64) return 'UINT64';
  if (field === FP32) return 'FP32';
  return field === FP64 ? 'FP64' : 'BYTES';
};

/** Triton's name for a datatype that it does not know. */
const namedDatatype = (datatype: string): string => (isDatatype(datatype) ? datatype : '<invalid>');

/** The one typed field that is used; undefined for none, which is how a tensor without elements comes. */
const usedField = (counts: ContentsCounts, input: WireInput, modelName: string): number | undefined => {
  let used: number | undefined;
  for (const field of typedFields) {
    if (counts.elements[field] === 0) continue;
    const unexpected = `unexpected explicit tensor data for input tensor '${input.name}' for model '${modelName}'`;
    if (used !== undefined) throw invalid(`${unexpected}, binary data was already supplied.`);
    const datatype = datatypeOfField(field, input.datatype);
    if (datatype !== input.datatype) {
      throw invalid(`${unexpected} of type '${datatype}', expected datatype '${namedDatatype(input.datatype)}'`);
    }
    used = field;
  }
  return used;
};

const typedTensor = (bytes: Buffer, contents: Ranges, input: WireInput, datatype: Datatype, modelName: string): Tensor => {
  const counts = countContents(bytes, contents);
  const field = usedField(counts, input, modelName);
  if (field === undefined) return new Tensor(datatype, input.shape, bytes, 0, 0);
  return new Tensor(datatype, input.shape, layOutContents(bytes, contents, counts, field, elementByteSize(datatype)));
};

/** Numbers beyond 2^53 have lost their last digits on the way in, and no tensor has so many elements. */
const checkShape = ({ name, shape }: WireInput): void => {
  for (const size of shape) {
    if (Number.isSafeInteger(size)) continue;
    throw invalid(
      `invalid shape for input '${name}': shape [${shape.map(BigInt).join(',')}] causes total element count to exceed maximum size of 9223372036854775807`,
    );
  }
};

const unknownDatatype = (input: WireInput, id: string, spec: ModelSpec): InferError => {
  const expected = spec.inputs.find(({ name }) => name === input.name)?.datatype;
  if (expected === undefined) return invalid(`unexpected inference input '${input.name}' for model '${spec.name}'`);
  return invalid(
    `${requestPrefix(id)}inference input '${input.name}' data-type is '<invalid>', but model '${spec.name}' expects '${expected}'`,
  );
};

const noInputs: Tensors = new Map();

/**
 * Finds the data of each input: `raw_input_contents`, one entry for each input in order, or the typed field of its `contents`. Raw tensors stay
 * ranges of the message.
 *
 * @throws InferError with Triton's texts
 */
export const parseInputs = (wire: WireRequest, spec: ModelSpec): Tensors => {
  if (wire.inputs.length === 0) return noInputs;
  const inputs = new Map<string, Tensor>();
  for (const input of wire.inputs) {
    if (inputs.has(input.name)) throw invalid(`${requestPrefix(wire.id)}input '${input.name}' already exists in request`);
    inputs.set(input.name, tensorOf(wire, inputs.size, input, spec));
  }
  return inputs;
};

const tensorOf = (wire: WireRequest, index: number, input: WireInput, spec: ModelSpec): Tensor => {
  const { bytes, rawContents } = wire;
  checkShape(input);
  if (usesSharedMemory(input.name, input.parameters)) {
    if (input.contents !== undefined) {
      throw invalid(
        `unexpected 'content' provided when using shared memory for input tensor '${input.name}' for model '${wire.modelName}'`,
      );
    }
    throw sharedMemoryNotSupported(input.name);
  }
  if (input.contents !== undefined && rawContents.length > 0) {
    throw invalid(`contents field must not be specified when using raw_input_contents for '${input.name}' for model '${wire.modelName}'`);
  }
  if (!isDatatype(input.datatype)) {
    if (input.contents !== undefined) usedField(countContents(bytes, input.contents), input, wire.modelName);
    throw unknownDatatype(input, wire.id, spec);
  }
  if (input.contents !== undefined) return typedTensor(bytes, input.contents, input, input.datatype, wire.modelName);
  const start = rawContents[2 * index];
  const end = rawContents[2 * index + 1];
  if (start === undefined || end === undefined) {
    throw invalid(`unable to find data for input tensor '${input.name}' for model '${wire.modelName}' in request.`);
  }
  return new Tensor(input.datatype, input.shape, bytes, start, end);
};
