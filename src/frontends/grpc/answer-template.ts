import type { InferResponse } from '../../streams/inference/response.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { type Shape, sameShape } from '../../streams/tensors/shape.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { KnownParameters } from './known-parameters.ts';
import { rangeFieldLength, stringField, varint64Length, writeRangeHead, writeVarint64 } from './wire/wire-writer.ts';

interface EncodedOutput {
  readonly datatype: Datatype;
  readonly shape: Shape;
  /** `outputs` entry of the response: name, datatype and shape. */
  readonly bytes: Buffer;
}

const outputsField = 5;
const shapeField = 3;
/** More names than any model has: a model that makes up names must not fill the memory. */
const mostOutputs = 4096;

const encodeOutput = (name: string, { datatype, shape }: Tensor): EncodedOutput => {
  const nameField = stringField(1, name);
  const datatypeField = stringField(2, datatype);
  const sizes = shape.map(BigInt);
  const packedLength = sizes.reduce((length, size) => length + varint64Length(size), 0);
  const shapeLength = packedLength === 0 ? 0 : rangeFieldLength(packedLength);
  const length = nameField.length + datatypeField.length + shapeLength;
  const bytes = Buffer.allocUnsafeSlow(rangeFieldLength(length));
  let position = writeRangeHead(bytes, 0, outputsField, length);
  position += nameField.copy(bytes, position);
  position += datatypeField.copy(bytes, position);
  if (packedLength > 0) position = writeRangeHead(bytes, position, shapeField, packedLength);
  for (const size of sizes) position = writeVarint64(bytes, position, size);
  return { datatype, shape: [...shape], bytes };
};

/** What is the same in all answers of a model version, encoded once: its name, and its outputs for as long as their shapes do not change. */
export class AnswerTemplate {
  readonly #name: string;
  readonly #version: string;
  readonly #model: Buffer;
  readonly #outputs = new Map<string, EncodedOutput>();
  /** Of its answers, as the model gives them. */
  readonly parameters = new KnownParameters();

  constructor(name: string, version: string) {
    this.#name = name;
    this.#version = version;
    this.#model = Buffer.concat([stringField(1, name), stringField(2, version)]);
  }

  /** `model_name` and `model_version`. */
  model({ modelName, modelVersion }: InferResponse): Buffer {
    if (modelName === this.#name && modelVersion === this.#version) return this.#model;
    return Buffer.concat([stringField(1, modelName), stringField(2, modelVersion)]);
  }

  /** The `outputs` entry of a tensor. */
  output(name: string, tensor: Tensor): Buffer {
    const known = this.#outputs.get(name);
    if (known !== undefined && known.datatype === tensor.datatype && sameShape(known.shape, tensor.shape)) return known.bytes;
    const encoded = encodeOutput(name, tensor);
    if (known !== undefined || this.#outputs.size < mostOutputs) this.#outputs.set(name, encoded);
    return encoded.bytes;
  }
}
