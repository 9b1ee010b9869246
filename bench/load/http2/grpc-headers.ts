import { END_HEADERS, HEADERS, headBytes, headerBlock, makeFrame } from './frames.ts';

/** The HEADERS frame that begins a call; its stream is filled in when it is sent. */
export const callHeaders = (method: 'ModelInfer' | 'ModelStreamInfer'): Buffer =>
  makeFrame(
    HEADERS,
    END_HEADERS,
    0,
    headerBlock([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', `/inference.GRPCInferenceService/${method}`],
      [':authority', '127.0.0.1'],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
      ['user-agent', 'weir-bench'],
    ]),
  );

/** Room for the head of a DATA frame, and a message with gRPC's own head of five bytes. */
export const messageFrame = (message: Buffer): Buffer => {
  const frame = Buffer.allocUnsafe(headBytes + 5 + message.length);
  frame[headBytes] = 0;
  frame.writeUInt32BE(message.length, headBytes + 1);
  message.copy(frame, headBytes + 5);
  return frame;
};

// `grpc-status: 0` as a literal without a table: its name in HPACK's Huffman code and plain, the value plain.
const name = Buffer.from('9acac8b21234da8f', 'hex');
const statusOk = [
  Buffer.concat([Buffer.from([0x80 | name.length]), name, Buffer.from('\u00010', 'latin1')]),
  Buffer.from('\u000bgrpc-status\u00010', 'latin1'),
];

/** Whether trailers say that a call went well. */
export const isStatusOk = (block: Buffer): boolean => statusOk.some((field) => block.includes(field));
