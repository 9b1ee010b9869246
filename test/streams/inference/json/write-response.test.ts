import { describe, expect, it } from 'vitest';
import { toInferError } from '../../../../src/streams/inference/error.ts';
import type { Rendering } from '../../../../src/streams/inference/json/rendering.ts';
import { allBinary } from '../../../../src/streams/inference/json/rendering.ts';
import { writeResponse } from '../../../../src/streams/inference/json/write-response.ts';
import { encodeBytesElements } from '../../../../src/streams/tensors/bytes-elements.ts';
import type { Datatype } from '../../../../src/streams/tensors/datatype.ts';
import { Tensor } from '../../../../src/streams/tensors/tensor.ts';
import { inferResponse } from '../../../support/request-fixtures.ts';

const allJson: Rendering = { listed: undefined, otherwise: 'json' };

const bytesOf = (array: { readonly buffer: ArrayBufferLike }): Uint8Array => new Uint8Array(array.buffer);

const failure = (tensor: Tensor): string => {
  try {
    writeResponse(inferResponse({ O: tensor }), allJson);
  } catch (error) {
    const { code, message } = toInferError(error);
    return `${code} ${message}`;
  }
  return 'none';
};

describe('writeResponse', () => {
  it('writes keys in the order of Triton, and leaves out what is empty', () => {
    const tensor = new Tensor('INT32', [1, 2], bytesOf(Int32Array.of(1, -2)));
    expect(writeResponse(inferResponse({ O: tensor }), allJson)).toEqual({
      head: '{"model_name":"m","model_version":"1","outputs":[{"name":"O","datatype":"INT32","shape":[1,2],"data":[1,-2]}]}',
      tensors: [],
    });
    const parameters = new Map<string, string | bigint | number | boolean>([
      ['s', 'a"b'],
      ['i', 9007199254740993n],
      ['d', 2],
      ['e', 1e30],
      ['n', Number.NaN],
      ['b', true],
    ]);
    expect(writeResponse(inferResponse({}, { id: 'i"d', parameters }), allJson, { last: false }).head).toBe(
      '{"id":"i\\"d","model_name":"m","model_version":"1","parameters":{"s":"a\\"b","i":9007199254740993,"d":2.0,"e":1e+30,"n":NaN,"b":true,"last":false},"outputs":[]}',
    );
  });

  it('leaves binary tensors to the caller, in order, without the empty ones', () => {
    const a = new Tensor('UINT8', [2], Uint8Array.of(1, 2));
    const empty = new Tensor('FP32', [0], Buffer.alloc(0));
    const b = new Tensor('FP16', [1], Uint8Array.of(3, 4));
    const { head, tensors } = writeResponse(inferResponse({ a, empty, b }), allBinary);
    expect(tensors).toEqual([a, b]);
    expect(JSON.parse(head).outputs).toEqual([
      { name: 'a', datatype: 'UINT8', shape: [2], parameters: { binary_data_size: 2 } },
      { name: 'empty', datatype: 'FP32', shape: [0], parameters: { binary_data_size: 0 } },
      { name: 'b', datatype: 'FP16', shape: [1], parameters: { binary_data_size: 2 } },
    ]);
  });

  it('renders each output as the request listed it', () => {
    const tensor = new Tensor('UINT8', [1], Uint8Array.of(9));
    const listed = new Map<string, 'json' | 'binary'>([
      ['a', 'binary'],
      ['b', 'json'],
    ]);
    const { head, tensors } = writeResponse(inferResponse({ a: tensor, b: tensor }), { listed, otherwise: 'json' });
    expect(tensors).toHaveLength(1);
    expect(head).toContain('"data":[9]');
  });

  it.each<[Datatype, Uint8Array, string]>([
    ['BOOL', Uint8Array.of(1, 0), '[true,false]'],
    ['UINT64', bytesOf(BigUint64Array.of(18446744073709551615n)), '[18446744073709551615]'],
    ['INT64', bytesOf(BigInt64Array.of(-9007199254740993n)), '[-9007199254740993]'],
    ['FP32', bytesOf(Float32Array.of(0.1, Number.NaN, Infinity, -Infinity)), '[0.10000000149011612,NaN,Infinity,-Infinity]'],
    ['BYTES', encodeBytesElements(['é"', '']), '["é\\"",""]'],
  ])('prints %s', (datatype, bytes, text) => {
    const count = text.split(',').length;
    expect(writeResponse(inferResponse({ O: new Tensor(datatype, [count], bytes) }), allJson).head).toContain(`"data":${text}`);
  });

  it.each([
    [
      'FP16',
      new Tensor('FP16', [1], Buffer.alloc(2)),
      'INVALID_ARGUMENT sending FP16 data via JSON is not supported. Please use the binary data format for output O',
    ],
    [
      'BF16',
      new Tensor('BF16', [1], Buffer.alloc(2)),
      'INVALID_ARGUMENT sending BF16 data via JSON is not supported. Please use the binary data format for output O',
    ],
    ['a wrong size', new Tensor('FP32', [2], Buffer.alloc(4)), "INTERNAL output tensor shape does not match size of output for 'O'"],
    [
      'too few strings',
      new Tensor('BYTES', [2], encodeBytesElements(['a'])),
      "INTERNAL output tensor shape does not match size of output for 'O'",
    ],
    [
      'bytes that are no text',
      new Tensor('BYTES', [1], encodeBytesElements([Uint8Array.of(0xff, 0xfe)])),
      'INVALID_ARGUMENT string element 0 is not valid UTF-8. Please use the binary data format for output O',
    ],
  ])('refuses %s as JSON', (_name, tensor, message) => {
    expect(failure(tensor)).toBe(message);
  });
});
