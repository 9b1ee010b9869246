import { InferError } from '../../streams/inference/error.ts';

export const headerLengthHeader = 'inference-header-content-length';

/**
 * The `Inference-Header-Content-Length` of a request; undefined when there is none, 0 for a raw request.
 *
 * @throws InferError INVALID_ARGUMENT
 */
export const parseHeaderLength = (value: string | readonly string[] | undefined): number | undefined => {
  if (value === undefined) return undefined;
  const text = typeof value === 'string' ? value.trim() : value.join(', ');
  if (!/^[+-]?\d+$/.test(text)) throw invalid(`Unable to parse Inference-Header-Content-Length, got: ${text}`);
  const length = Number(text);
  if (length < -(2 ** 31) || length > 2 ** 31 - 1) {
    throw invalid(`Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: ${text}`);
  }
  return length;
};

/** @throws InferError INVALID_ARGUMENT */
export const checkHeaderLength = (headerLength: number, bodyLength: number): void => {
  if (headerLength < 0 || headerLength > bodyLength) {
    throw invalid(`inference header size should be in range (0, ${bodyLength}), got: ${headerLength}`);
  }
};

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message);
