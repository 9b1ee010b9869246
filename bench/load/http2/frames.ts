/** The parts of HTTP/2 (RFC 9113) that a client needs which asks only its own questions. */
export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

export const END_STREAM = 1;
export const ACK = 1;
export const END_HEADERS = 4;

export const headBytes = 9;

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const writeHead = (frame: Buffer, length: number, type: number, flags: number, stream: number): void => {
  frame.writeUIntBE(length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
};

export const makeFrame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const frame = Buffer.allocUnsafe(headBytes + payload.length);
  writeHead(frame, payload.length, type, flags, stream);
  payload.copy(frame, headBytes);
  return frame;
};

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

export const windowUpdate = (stream: number, bytes: number): Buffer => makeFrame(WINDOW_UPDATE, 0, stream, uint32(bytes));

/** SETTINGS of the numbers given: no table for the answers' header compression, so that a block means the same wherever it comes. */
export const settings = (streamWindow: number, frameBytes: number): Buffer => {
  const entries: readonly (readonly [number, number])[] = [
    [1, 0],
    [2, 0],
    [4, streamWindow],
    [5, frameBytes],
  ];
  const payload = Buffer.concat(entries.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), uint32(value)])));
  return makeFrame(SETTINGS, 0, 0, payload);
};

/** A header block without compression: each field a literal with a name of its own. */
export const headerBlock = (fields: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(
    fields.flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name, 'latin1'),
      Buffer.from([value.length]),
      Buffer.from(value, 'latin1'),
    ]),
  );
