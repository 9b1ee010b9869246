import type { OutgoingHttpHeaders } from 'node:http2';
import { type CallStatus, statusCodes } from './call-status.ts';
import { acceptedEncodings } from './decompress.ts';

export const answerHeaders: OutgoingHttpHeaders = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': acceptedEncodings,
};

const okTrailers: OutgoingHttpHeaders = { 'grpc-status': String(statusCodes.OK) };

/** A message travels percent-encoded. It must be well-formed. */
export const trailers = ({ code, details }: CallStatus): OutgoingHttpHeaders =>
  code === statusCodes.OK ? okTrailers : { 'grpc-status': String(code), 'grpc-message': encodeURI(details) };
