import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { toClientError } from '../../../src/frontends/grpc/client-error.ts';
import { toStatus } from '../../../src/frontends/grpc/transport/call-status.ts';
import { type ErrorCode, InferError } from '../../../src/streams/inference/error.ts';
import { ErrorLog } from './support/data-plane.ts';

describe('status', () => {
  it.each<[ErrorCode, number]>([
    ['UNKNOWN', 2],
    ['INTERNAL', 13],
    ['NOT_FOUND', 5],
    ['INVALID_ARGUMENT', 3],
    ['UNAVAILABLE', 14],
    ['UNIMPLEMENTED', 12],
    ['ALREADY_EXISTS', 6],
    ['CANCELLED', 1],
    ['RESOURCE_EXHAUSTED', 8],
  ])('of %s is %i', (code, number) => {
    expect(toStatus(new InferError(code, 'text', { cause: new Error('secret') }))).toEqual({ code: number, details: 'text' });
  });

  it('of what was thrown by mistake is INTERNAL, and only the log knows where', () => {
    const log = new ErrorLog();
    expect(toStatus(toClientError(new RangeError('oops'), log))).toEqual({ code: status.INTERNAL, details: 'oops' });
    expect(toStatus(toClientError('plain', log))).toEqual({ code: status.INTERNAL, details: 'plain' });
    expect(log.lines[0]).toMatch(/^gRPC: RangeError: oops\n\s+at /);
    expect(log.lines[1]).toBe('gRPC: plain');
  });

  it('is not logged when it was planned', () => {
    const log = new ErrorLog();
    const error = new InferError('NOT_FOUND', 'x');
    expect(toClientError(error, log)).toBe(error);
    expect(log.lines).toEqual([]);
  });
});
