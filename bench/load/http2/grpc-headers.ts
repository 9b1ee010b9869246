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

// `grpc-status` as HPACK has it without a table: in its Huffman code with the length before it, or plain. The value is plain in any case, since
// digits become no shorter.
const names = [Buffer.from('889acac8b21234da8f', 'hex'), Buffer.from('\u000bgrpc-status', 'latin1')];

/** The grpc-status in a block of trailers: digits, `'none'` without one. */
export const grpcStatusIn = (trailers: Buffer): string => {
  for (const name of names) {
    const found = trailers.indexOf(name);
    if (found < 0) continue;
    const value = found + name.length;
    return trailers.toString('latin1', value + 1, value + 1 + (trailers[value] ?? 0));
  }
  return 'none';
};
