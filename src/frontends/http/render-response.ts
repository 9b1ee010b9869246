import type { ServerResponse } from 'node:http';
import { type InferError, toInferError } from '../../streams/inference/error.ts';
import type { Rendering } from '../../streams/inference/json/rendering.ts';
import { writeResponse } from '../../streams/inference/json/write-response.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import type { BodyMemory } from './body-memory.ts';
import { acceptedCodings, type CompressedCoding, compress, UnsupportedCoding } from './content-coding.ts';
import { httpStatus } from './status.ts';

/** An infer answer as bytes of its own. */
export interface RenderedAnswer {
  /** The bytes are those from 0 to `length`. */
  readonly buffer: Buffer;
  readonly length: number;
  readonly isPooled: boolean;
  /** Bytes of the JSON part; undefined when there is nothing else. */
  readonly headerLength: number | undefined;
}

const largestUnpooled = 64 * 1024;

/** Copies the answer's tensors behind its JSON. @throws InferError */
export const renderAnswer = (response: InferResponse, rendering: Rendering, memory: BodyMemory): RenderedAnswer => {
  const { head, tensors } = writeResponse(response, rendering);
  const headerLength = Buffer.byteLength(head);
  let length = headerLength;
  for (const tensor of tensors) length += tensor.byteLength;
  const isPooled = length > largestUnpooled;
  const buffer = isPooled ? memory.take(length) : Buffer.allocUnsafe(length);
  let at = buffer.write(head);
  for (const tensor of tensors) at += copyTensor(tensor, buffer, at);
  return { buffer, length, isPooled, headerLength: tensors.length === 0 ? undefined : headerLength };
};

const copyTensor = ({ buffer, start, end }: Tensor, into: Buffer, at: number): number => {
  if (buffer instanceof Buffer) return buffer.copy(into, at, start, end);
  into.set(buffer.subarray(start, end), at);
  return end - start;
};

/** Bodies up to this size leave in one piece with the head; a larger one by reference, behind it. */
const largestJoined = 4096;

const bodyHeaders = (headerLength: number | undefined, length: number): string[] =>
  headerLength === undefined
    ? ['Content-Type', 'application/json', 'Content-Length', String(length)]
    : [
        'Content-Type',
        'application/octet-stream',
        'Inference-Header-Content-Length',
        String(headerLength),
        'Content-Length',
        String(length),
      ];

/** Head and body leave in one write. */
export const sendAnswer = (response: ServerResponse, { buffer, length, headerLength }: RenderedAnswer): void => {
  response.writeHead(200, bodyHeaders(headerLength, length));
  // Node puts a string behind the head before it writes; a buffer is a write of its own. Latin-1 keeps the bytes.
  if (length <= largestJoined) response.end(buffer.toString('latin1', 0, length), 'latin1');
  else response.end(length === buffer.byteLength ? buffer : buffer.subarray(0, length));
};

/** `sendAnswer` in a coding that the client takes. */
export const sendCompressed = async (
  response: ServerResponse,
  { buffer, length, headerLength }: RenderedAnswer,
  coding: CompressedCoding,
): Promise<void> => {
  const body = await compress(buffer.subarray(0, length), coding);
  if (response.destroyed) return;
  response.writeHead(200, [...bodyHeaders(headerLength, body.byteLength), 'Content-Encoding', coding]);
  response.end(body);
};

/** The one form of every error. */
export const errorText = (message: string): string => JSON.stringify({ error: message });

/** An error where fastify has handed the answer over. */
export const sendError = (response: ServerResponse, thrown: unknown): void => {
  const error: InferError = toInferError(thrown);
  const body = errorText(error.message);
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))];
  if (error instanceof UnsupportedCoding) headers.push('Accept-Encoding', acceptedCodings);
  response.writeHead(httpStatus(error.code), headers);
  response.end(body);
};
