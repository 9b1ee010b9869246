import type { Datatype } from '../../tensors/datatype.ts';
import type { Shape } from '../../tensors/shape.ts';
import { Tensor } from '../../tensors/tensor.ts';
import type { ModelSpec } from '../model-spec.ts';
import type { InferRequest } from '../request.ts';
import { parseDocument } from './parse-document.ts';
import { type ByteRange, type ReadRequest, type ReadRequestOptions, readRequest } from './read-request.ts';

const longestHead = 2048;
const mostHeads = 64;

/** One input of a head, and where its bytes lie in the tail. */
interface KnownInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  readonly start: number;
  readonly end: number;
}

interface KnownHead extends ReadRequest {
  readonly inputs: readonly KnownInput[];
  readonly tailLength: number;
}

/** Where Triton's clients put the id: before everything else. */
const leadingId = /^\{"id": ?"([ !#-[\]-~]*)", ?/;

/**
 * Requests whose JSON says the same, letter by letter, as one before, but for the id that it begins with: a client that sends binary tensors of
 * one shape sends one head over and over. Such a head is read once for each model. No more than 64 of at most 2 kB are kept for a model.
 */
export class KnownHeads {
  readonly #models = new WeakMap<ModelSpec, Map<string, KnownHead>>();

  /** Reads the bytes before `options.tail` as `readRequest` does. @throws InferError */
  read(bytes: Buffer, options: ReadRequestOptions): ReadRequest {
    const { start, end } = options.tail;
    if (start > longestHead || start === end) return readRequest(parseDocument(bytes, 0, start), options);
    const heads = this.#of(options.spec);
    const text = bytes.toString('latin1', 0, start);
    const found = leadingId.exec(text);
    const id = found?.[1] ?? '';
    const rest = found === null ? text : text.slice(found[0].length);
    const known = heads.get(rest);
    if (known?.tailLength === end - start) return { request: again(known, id, options), rendering: known.rendering };
    const read = readRequest(parseDocument(bytes, 0, start), options);
    // Another id further on would be the one that counts.
    if (known === undefined && read.request.id === id) {
      if (heads.size === mostHeads) heads.clear();
      const head = knownHead(read, options.tail);
      if (head !== undefined) heads.set(rest, head);
    }
    return read;
  }

  #of(spec: ModelSpec): Map<string, KnownHead> {
    let heads = this.#models.get(spec);
    if (heads === undefined) {
      heads = new Map();
      this.#models.set(spec, heads);
    }
    return heads;
  }
}

/** Undefined when a tensor is not in the tail: its values are in the head. */
const knownHead = (read: ReadRequest, tail: ByteRange): KnownHead | undefined => {
  const inputs: KnownInput[] = [];
  for (const [name, { datatype, shape, buffer, start, end }] of read.request.inputs) {
    if (buffer !== tail.buffer) return undefined;
    inputs.push({ name, datatype, shape, start: start - tail.start, end: end - tail.start });
  }
  return { ...read, inputs, tailLength: tail.end - tail.start };
};

const again = ({ request, inputs }: KnownHead, id: string, { tail, modelVersion }: ReadRequestOptions): InferRequest => {
  const tensors = new Map<string, Tensor>();
  for (const { name, datatype, shape, start, end } of inputs) {
    tensors.set(name, new Tensor(datatype, shape, tail.buffer, tail.start + start, tail.start + end));
  }
  return {
    modelName: request.modelName,
    modelVersion,
    id,
    inputs: tensors,
    outputs: request.outputs,
    parameters: request.parameters,
    sequenceId: request.sequenceId,
    sequenceStart: request.sequenceStart,
    sequenceEnd: request.sequenceEnd,
    priority: request.priority,
    timeoutMicroseconds: request.timeoutMicroseconds,
  };
};
