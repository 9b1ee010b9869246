import { InferError } from '../../streams/inference/error.ts';
import { noParameters, type Parameters } from '../../streams/inference/parameters.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import type { AnswerTemplate } from './answer-template.ts';
import type { Outgoing } from './transport/outgoing.ts';
import { parametersLength, writeParameters } from './wire/parameter-writer.ts';
import { rangeFieldLength, stringField, writeRangeHead } from './wire/wire-writer.ts';

/** Whether an answer says `triton_final_response`: those of a unary call do not. */
export type Finality = 'last' | 'more' | 'unsaid';

const idField = 3;
const rawOutputContentsField = 6;
const errorMessageField = 1;
const inferResponseField = 2;

export const largestMessage = 2 ** 31 - 1;

const noOutputs: readonly Buffer[] = [];

const lastOnly: Parameters = new Map([['triton_final_response', true]]);
const moreOnly: Parameters = new Map([['triton_final_response', false]]);

const noBytes = Buffer.alloc(0);

const finalityParameters = (finality: Finality): Parameters =>
  finality === 'unsaid' ? noParameters : finality === 'last' ? lastOnly : moreOnly;

/** A model's own word for it does not count. */
const ownParameters = ({ parameters }: InferResponse, finality: Finality): Parameters => {
  if (finality === 'unsaid' || !parameters.has('triton_final_response')) return parameters;
  const own = new Map(parameters);
  own.delete('triton_final_response');
  return own;
};

/** `Buffer.copy` reads any byte array, shared memory included, and is the fastest way to do so. */
const copyTensor = (tensor: Tensor, target: Buffer, at: number): number =>
  Buffer.prototype.copy.call(tensor.buffer, target, at, tensor.start, tensor.end);

/**
 * An answer as a `ModelInferResponse`. Until `keep` its tensors are where the model left them: whoever does not copy it out while it is being
 * emitted keeps it.
 */
export class Answer implements Outgoing {
  readonly byteLength: number;
  /** Undefined once its bytes are kept: what waits for a slow reader is not to hold more than these. */
  #response: InferResponse | undefined;
  readonly #model: Buffer;
  #outputs: readonly Buffer[];
  readonly #own: Parameters;
  /** Of `#own`, where they are known; undefined where they are still to be written. */
  readonly #ownBytes: Buffer | undefined;
  readonly #finality: Parameters;
  readonly #idLength: number;
  /** Bytes of the response inside its stream message; 0 for an answer that is no part of a stream. */
  readonly #enveloped: number;
  #kept: Buffer | undefined;

  constructor(template: AnswerTemplate, response: InferResponse, finality: Finality) {
    this.#response = response;
    this.#model = template.model(response);
    this.#own = ownParameters(response, finality);
    this.#ownBytes = this.#own.size === 0 ? noBytes : template.parameters.bytesOf(this.#own);
    this.#finality = finalityParameters(finality);
    this.#idLength = Buffer.byteLength(response.id);
    let length = this.#model.length + (this.#ownBytes?.length ?? parametersLength(this.#own)) + parametersLength(this.#finality);
    if (this.#idLength > 0) length += rangeFieldLength(this.#idLength);
    const outputs: Buffer[] = [];
    for (const [name, tensor] of response.outputs) {
      const output = template.output(name, tensor);
      outputs.push(output);
      length += output.length + rangeFieldLength(tensor.byteLength);
    }
    this.#outputs = outputs;
    this.#enveloped = finality === 'unsaid' ? 0 : length;
    this.byteLength = finality === 'unsaid' ? length : rangeFieldLength(length);
    if (this.byteLength > largestMessage) {
      throw new InferError('INTERNAL', `Response has byte size ${this.byteLength} which exceeds gRPC's byte size limit ${largestMessage}.`);
    }
  }

  copy(target: Buffer, start: number): number {
    if (this.#kept !== undefined) return this.#kept.copy(target, start);
    if (this.#response === undefined) return 0;
    const { id, outputs } = this.#response;
    let position = start;
    if (this.#enveloped > 0) position = writeRangeHead(target, position, inferResponseField, this.#enveloped);
    position += this.#model.copy(target, position);
    if (this.#idLength > 0) {
      position = writeRangeHead(target, position, idField, this.#idLength);
      position += target.write(id, position);
    }
    position =
      this.#ownBytes === undefined ? writeParameters(target, position, this.#own) : position + this.#ownBytes.copy(target, position);
    position = writeParameters(target, position, this.#finality);
    for (const output of this.#outputs) position += output.copy(target, position);
    for (const tensor of outputs.values()) {
      position = writeRangeHead(target, position, rawOutputContentsField, tensor.byteLength);
      position += copyTensor(tensor, target, position);
    }
    return position - start;
  }

  /** Takes the bytes now: the model may have its memory back. */
  keep(): void {
    if (this.#kept !== undefined) return;
    const kept = Buffer.allocUnsafe(this.byteLength);
    this.copy(kept, 0);
    this.#kept = kept;
    this.#response = undefined;
    this.#outputs = noOutputs;
  }
}

/** The request that a message of a stream answers, as the client named it. */
export interface Asked {
  readonly id: string;
  readonly modelName: string;
  readonly modelVersion: string;
}

const streamMessage = (errorMessage: string, fields: readonly Buffer[]): Buffer => {
  const length = fields.reduce((sum, field) => sum + field.length, 0);
  const head = Buffer.allocUnsafe(6);
  return Buffer.concat([
    stringField(errorMessageField, errorMessage),
    head.subarray(0, writeRangeHead(head, 0, inferResponseField, length)),
    ...fields,
  ]);
};

const parametersBytes = (parameters: Parameters): Buffer => {
  const bytes = Buffer.allocUnsafe(parametersLength(parameters));
  writeParameters(bytes, 0, parameters);
  return bytes;
};

const askedFields = ({ id, modelName, modelVersion }: Asked): Buffer[] => [
  stringField(1, modelName),
  stringField(2, modelVersion),
  stringField(idField, id),
];

/** In a stream: the request could not be given to a model. */
export const issueError = (id: string, message: string): Buffer => streamMessage(message, [stringField(idField, id)]);

/** In a stream: the model or its server failed. Nothing follows for this request, unless it is an answer of a decoupled model that has failed. */
export const answerError = (asked: Asked, message: string, finality: Exclude<Finality, 'unsaid'>): Buffer =>
  streamMessage(message, [...askedFields(asked), parametersBytes(finality === 'last' ? lastOnly : moreOnly)]);

/** In a stream: a decoupled model has ended, and its last answer did not say so. */
export const emptyFinal = (asked: Asked): Buffer => streamMessage('', [...askedFields(asked), parametersBytes(lastOnly)]);
