import type { Datatype } from '../src/streams/tensors/datatype.ts';

/** Three values of a datatype, extremes among them: as JSON text, and as bytes on the wire. */
export interface Sample {
  readonly json: string | undefined;
  readonly bytes: Buffer;
}

const strings = ['', 'héllo "x"\n', '\u{1f600}'];

const bytesOf = (values: readonly string[]): Buffer =>
  Buffer.concat(
    values.map((text) => {
      const body = Buffer.from(text);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(body.length);
      return Buffer.concat([length, body]);
    }),
  );

const of = (array: ArrayBufferView, json: string): Sample => ({
  json,
  bytes: Buffer.from(array.buffer, array.byteOffset, array.byteLength),
});

export const samples: Readonly<Record<Datatype, Sample>> = {
  BOOL: of(Uint8Array.of(1, 0, 1), '[true,false,true]'),
  UINT8: of(Uint8Array.of(0, 7, 255), '[0,7,255]'),
  UINT16: of(Uint16Array.of(0, 7, 65_535), '[0,7,65535]'),
  UINT32: of(Uint32Array.of(0, 7, 4_294_967_295), '[0,7,4294967295]'),
  UINT64: of(BigUint64Array.of(0n, 7n, 18_446_744_073_709_551_615n), '[0,7,18446744073709551615]'),
  INT8: of(Int8Array.of(-128, 0, 127), '[-128,0,127]'),
  INT16: of(Int16Array.of(-32_768, 0, 32_767), '[-32768,0,32767]'),
  INT32: of(Int32Array.of(-2_147_483_648, 0, 2_147_483_647), '[-2147483648,0,2147483647]'),
  INT64: of(
    BigInt64Array.of(-9_223_372_036_854_775_808n, 9_007_199_254_740_993n, 9_223_372_036_854_775_807n),
    '[-9223372036854775808,9007199254740993,9223372036854775807]',
  ),
  FP16: { json: undefined, bytes: Buffer.from('003c00c0ff7b', 'hex') },
  FP32: of(Float32Array.of(1.5, -0.1, 3.4e38), '[1.5,-0.1,3.4e38]'),
  FP64: of(Float64Array.of(1.5, -0.1, 1.7e308), '[1.5,-0.1,1.7e308]'),
  BYTES: { json: JSON.stringify(strings), bytes: bytesOf(strings) },
  BF16: { json: undefined, bytes: Buffer.from('803f00c07f7f', 'hex') },
};

/** A JSON head and tensor bytes behind it, as the binary tensor extension has them. */
export const binaryBody = (head: object, ...tensors: readonly Buffer[]): { body: Buffer; headers: Record<string, string> } => {
  const json = Buffer.from(JSON.stringify(head));
  return { body: Buffer.concat([json, ...tensors]), headers: { 'inference-header-content-length': String(json.length) } };
};

export const floats = (...values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
export const integers = (...values: readonly number[]): Buffer => Buffer.from(Int32Array.from(values).buffer);
