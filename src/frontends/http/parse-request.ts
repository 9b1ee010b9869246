import type { ServedModel } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { KnownHeads } from '../../streams/inference/json/known-heads.ts';
import type { Rendering } from '../../streams/inference/json/rendering.ts';
import { allBinary } from '../../streams/inference/json/rendering.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { checkHeaderLength } from './header-length.ts';
import { rawRequest } from './raw-request.ts';
import type { Body, BodyLimit } from './read-body.ts';

/** Triton counts bodies in 32 bits; so much of tensors is taken behind a JSON part that is itself within the input limit. */
const mostBodyBytes = 2 ** 31 - 1;

const advice = 'Use --http-max-input-size to increase the limit.';

const jsonLimit = (maxInputBytes: number): BodyLimit => ({
  bytes: maxInputBytes,
  refuse: (bytes) =>
    invalid(`request JSON size of ${bytes} bytes exceeds the maximum allowed input size of ${maxInputBytes} bytes. ${advice}`),
});

const rawLimit = (maxInputBytes: number): BodyLimit => ({
  bytes: maxInputBytes,
  refuse: (bytes) =>
    invalid(`Raw input has a byte_size (${bytes} bytes) that exceeds the maximum allowed value of ${maxInputBytes} bytes. ${advice}`),
});

/** What does not compress becomes a little larger. */
const compressionOverhead = 64 * 1024;

const compressedLimit = (maxInputBytes: number): BodyLimit => ({
  bytes: maxInputBytes + compressionOverhead,
  refuse: () => invalid(`Decompressed data size exceeds the maximum allowed value of ${maxInputBytes} bytes. ${advice}`),
});

const binaryLimit: BodyLimit = {
  bytes: mostBodyBytes,
  refuse: (bytes) => invalid(`request body of ${bytes} bytes exceeds the maximum allowed size of ${mostBodyBytes} bytes`),
};

/** The limits of one server, which its `maxInputBytes` sets. */
export interface BodyLimits {
  readonly maxInputBytes: number;
  readonly json: BodyLimit;
  readonly raw: BodyLimit;
  readonly compressed: BodyLimit;
  readonly binary: BodyLimit;
}

export const bodyLimits = (maxInputBytes: number): BodyLimits => ({
  maxInputBytes,
  json: jsonLimit(maxInputBytes),
  raw: rawLimit(maxInputBytes),
  compressed: compressedLimit(maxInputBytes),
  binary: binaryLimit,
});

interface ParsedRequest {
  readonly request: InferRequest;
  readonly rendering: Rendering;
}

/** Where the body is for, and how it is cut. */
interface BodyFraming {
  readonly served: ServedModel;
  readonly modelVersion: string;
  /** Undefined when the client gave none: the whole body is JSON, or there is no body. */
  readonly headerLength: number | undefined;
  readonly limits: BodyLimits;
  readonly heads: KnownHeads;
}

/** @throws InferError */
export const parseRequest = (body: Body, { served, modelVersion, headerLength, limits, heads }: BodyFraming): ParsedRequest => {
  const jsonLength = headerLength ?? body.length;
  checkHeaderLength(jsonLength, body.length);
  if (jsonLength === 0) {
    if (body.length > limits.raw.bytes) throw limits.raw.refuse(body.length);
    return { request: rawRequest(served.spec, modelVersion, body), rendering: allBinary };
  }
  if (jsonLength > limits.json.bytes) throw limits.json.refuse(jsonLength);
  return heads.read(body.buffer, {
    spec: served.spec,
    modelVersion,
    tail: { buffer: body.buffer, start: jsonLength, end: body.length },
    maxInputBytes: limits.maxInputBytes,
  });
};

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message);
