import { describe, expect, it } from 'vitest';
import { toInferError } from '../../../../src/streams/inference/error.ts';
import { parseDocument } from '../../../../src/streams/inference/json/parse-document.ts';
import { readRequest } from '../../../../src/streams/inference/json/read-request.ts';
import { isRenderedBinary } from '../../../../src/streams/inference/json/rendering.ts';
import type { Datatype } from '../../../../src/streams/tensors/datatype.ts';
import { makeInput, makeSpec } from '../../../support/model.ts';

const spec = makeSpec({ name: 'M', inputs: [makeInput({ name: 'A', datatype: 'FP32' })] });

/** The JSON, and what follows it. */
const read = (json: string, tail: Uint8Array = Buffer.alloc(0), maxInputBytes = 1000) => {
  const head = Buffer.from(json);
  const buffer = Buffer.concat([head, tail]);
  const range = { buffer, start: head.length, end: buffer.length };
  return readRequest(parseDocument(buffer, 0, head.length), { spec, modelVersion: '3', tail: range, maxInputBytes });
};

const failure = (json: string, tail?: Uint8Array, maxInputBytes?: number): string => {
  try {
    read(json, tail, maxInputBytes);
  } catch (error) {
    const { code, message } = toInferError(error);
    return `${code} ${message}`;
  }
  return 'none';
};

const input = (fields: string): string => `{"inputs":[{${fields}}]}`;
const fp32 = (shape: string, data: string): string => input(`"name":"A","datatype":"FP32","shape":${shape},"data":${data}`);
const typed = (datatype: string, data: string, shape = '[1]'): string =>
  input(`"name":"A","datatype":"${datatype}","shape":${shape},"data":${data}`);

const onlyOne =
  "INVALID_ARGUMENT Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But";

describe('readRequest: what is right', () => {
  it('reads every part', () => {
    const { request, rendering } = read(
      `{"id":"x","parameters":{"sequence_id":7,"sequence_start":true,"sequence_end":false,"priority":2,"timeout":9007199254740993,"binary_data_output":true,
        "s":"t","b":false,"i":5,"d":1.0,"big":9223372036854775807,"toobig":9223372036854775808},
        "inputs":[{"name":"A","datatype":"FP32","shape":[1,2],"data":[1.5,-2]}],
        "outputs":[{"name":"O","parameters":{"classification":3,"binary_data":true}},{"name":"P"},{"name":"O"}],"more":[]}`,
    );
    expect(request).toMatchObject({
      modelName: 'M',
      modelVersion: '3',
      id: 'x',
      sequenceId: 7n,
      sequenceStart: true,
      sequenceEnd: false,
      priority: 2n,
      timeoutMicroseconds: 9007199254740993n,
      outputs: [
        { name: 'O', classification: 3 },
        { name: 'P', classification: 0 },
      ],
    });
    expect([...request.parameters]).toEqual([
      ['s', 't'],
      ['b', false],
      ['i', 5n],
      ['d', 1],
      ['big', 9223372036854775807n],
      ['toobig', 2 ** 63],
    ]);
    expect(isRenderedBinary(rendering, 'O')).toBe(true);
    expect(isRenderedBinary(rendering, 'P')).toBe(false);
    const tensor = request.inputs.get('A');
    expect(tensor?.shape).toEqual([1, 2]);
    expect([...new Float32Array(Uint8Array.from(tensor?.bytes ?? []).buffer)]).toEqual([1.5, -2]);
  });

  it('leaves out what is not there', () => {
    const { request, rendering } = read('{"inputs":[]}');
    expect(request).toMatchObject({ id: '', outputs: [], sequenceId: 0n, sequenceStart: false, priority: 0n, timeoutMicroseconds: 0n });
    expect(request.parameters.size + request.inputs.size).toBe(0);
    expect(isRenderedBinary(rendering, 'any')).toBe(false);
  });

  it('renders unlisted outputs as the request asks for', () => {
    expect(isRenderedBinary(read('{"inputs":[],"outputs":[],"parameters":{"binary_data_output":true}}').rendering, 'O')).toBe(true);
  });

  it('takes a sequence id that is a string of up to 128 bytes', () => {
    expect(read(`{"inputs":[],"parameters":{"sequence_id":"${'a'.repeat(128)}"}}`).request.sequenceId).toHaveLength(128);
  });

  it('cuts binary inputs out of the tail, in order, without a copy', () => {
    const tail = Buffer.from([1, 2, 3, 4, 5, 6, 7]);
    const binary = (name: string, size: number): string =>
      `{"name":"${name}","datatype":"UINT8","shape":[${size}],"parameters":{"binary_data_size":${size}}}`;
    const { inputs } = read(`{"inputs":[${binary('A', 2)},${binary('EMPTY', 0)},${binary('C', 5)}]}`, tail).request;
    expect([...inputs].map(([name, tensor]) => [name, [...tensor.bytes]])).toEqual([
      ['A', [1, 2]],
      ['EMPTY', []],
      ['C', [3, 4, 5, 6, 7]],
    ]);
    expect(inputs.get('A')?.buffer).toBe(inputs.get('C')?.buffer);
  });

  it.each<[Datatype, string, readonly number[]]>([
    ['BOOL', '[true,false]', [1, 0]],
    ['UINT8', '[255,0]', [255, 0]],
    ['INT8', '[-1,127]', [255, 127]],
    ['UINT16', '[65535,1]', [255, 255, 1, 0]],
    ['INT16', '[-2,1]', [254, 255, 1, 0]],
    ['UINT32', '[4294967295,1]', [255, 255, 255, 255, 1, 0, 0, 0]],
    ['INT32', '[-1,1]', [255, 255, 255, 255, 1, 0, 0, 0]],
    ['UINT64', '[18446744073709551615,1]', [255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 0]],
    ['INT64', '[-9223372036854775808,1]', [0, 0, 0, 0, 0, 0, 0, 128, 1, 0, 0, 0, 0, 0, 0, 0]],
    ['FP32', '[1,-Infinity]', [0, 0, 128, 63, 0, 0, 128, 255]],
    ['FP64', '[1.0,-2]', [0, 0, 0, 0, 0, 0, 240, 63, 0, 0, 0, 0, 0, 0, 0, 192]],
    ['BYTES', '["é",""]', [2, 0, 0, 0, 0xc3, 0xa9, 0, 0, 0, 0]],
  ])('reads %s', (datatype, data, bytes) => {
    expect([...(read(typed(datatype, data, '[2]')).request.inputs.get('A')?.bytes ?? [])]).toEqual(bytes);
  });

  it.each([['[[1,2],[3,4]]'], ['[1,2,3,4]'], ['[[[1],2,3],4]'], ['[[1,2],[3],[4]]']])('takes data nested as it likes: %s', (data) => {
    expect(read(fp32('[2,2]', data)).request.inputs.get('A')?.byteLength).toBe(16);
  });

  it.each([
    ['[]', '[5]', 4],
    ['[0]', '[]', 0],
    ['[2,0]', '[]', 0],
  ])('takes shape %s', (shape, data, size) => {
    expect(read(fp32(shape, data)).request.inputs.get('A')?.byteLength).toBe(size);
  });

  it('takes whole numbers of a fraction tensor beside an integer one', () => {
    const document = `{"inputs":[{"name":"A","datatype":"FP32","shape":[2],"data":[1.0,2.0]},{"name":"B","datatype":"INT32","shape":[2],"data":[1,2]}]}`;
    expect(read(document).request.inputs.size).toBe(2);
  });
});

describe('readRequest: what is wrong', () => {
  it.each([
    ['[]', "INTERNAL Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    ['{}', "INTERNAL Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    ['{"inputs":{}}', "INTERNAL Unable to parse 'inputs': attempt to access JSON non-array as array"],
    ['{"id":5}', "INTERNAL Unable to parse 'id': attempt to access JSON non-string as string"],
    ['{"parameters":[]}', 'INTERNAL failed to get request params.: attempt to get members for non-object'],
    ['{"parameters":{"sequence_id":-1}}', "INTERNAL Unable to parse 'sequence_id': attempt to access JSON non-string as string"],
    [`{"parameters":{"sequence_id":"${'é'.repeat(65)}"}}`, 'UNIMPLEMENTED string correlation ID cannot be longer than 128 characters'],
    ['{"parameters":{"sequence_start":1}}', "INTERNAL Unable to parse 'sequence_start': attempt to access JSON non-boolean as boolean"],
    ['{"parameters":{"sequence_end":"x"}}', "INTERNAL Unable to parse 'sequence_end': attempt to access JSON non-boolean as boolean"],
    [
      '{"parameters":{"priority":1.0}}',
      "INTERNAL Unable to parse 'priority': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      '{"parameters":{"timeout":-1}}',
      "INTERNAL Unable to parse 'timeout': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      '{"parameters":{"binary_data_output":"yes"}}',
      "INTERNAL Unable to parse 'binary_data_output': attempt to access JSON non-boolean as boolean",
    ],
    [
      '{"parameters":{"triton_x":1}}',
      "INVALID_ARGUMENT parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    ],
    ['{"parameters":{"headers":"x"}}', "INVALID_ARGUMENT parameter 'headers' is reserved and should not be specified."],
    ['{"parameters":{"p":[1]}}', "INVALID_ARGUMENT parameter 'p' has invalid type. It should be either 'int', 'bool', or 'string'."],
    ['{"parameters":{"p":null}}', "INVALID_ARGUMENT parameter 'p' has invalid type. It should be either 'int', 'bool', or 'string'."],
    ['{"inputs":[1]}', `${onlyOne} no field is set`],
    [input('"name":"A"'), `${onlyOne} no field is set`],
    [input('"data":[],"parameters":{"binary_data_size":1}'), `${onlyOne} set 'data' 'binary_data_size'`],
    [
      input('"data":[],"parameters":{"binary_data_size":1,"shared_memory_region":"r"}'),
      `${onlyOne} set 'data' 'binary_data_size' 'shared_memory_region'`,
    ],
    [input('"data":[]'), "INTERNAL Unable to parse 'name': attempt to access non-existing object member 'name'"],
    [input('"data":[],"name":7'), "INTERNAL Unable to parse 'name': attempt to access JSON non-string as string"],
    [input('"data":[],"name":"A"'), "INTERNAL Unable to parse 'datatype': attempt to access non-existing object member 'datatype'"],
    [
      input('"data":[],"name":"A","datatype":"FP32"'),
      "INTERNAL Unable to parse 'shape': attempt to access non-existing object member 'shape'",
    ],
    [fp32('3', '[1]'), "INTERNAL Unable to parse 'shape': attempt to access JSON non-array as array"],
    ...['"a"', '-5', '1.5', '1.0', 'null', '"1"', '18446744073709551616', 'true'].map((size) => [
      fp32(`[2,${size}]`, '[1.5]'),
      "INTERNAL Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ]),
    [
      fp32('[18446744073709551615]', '[1]'),
      "INVALID_ARGUMENT invalid shape for input 'A': shape [18446744073709551615] contains one or more invalid dimensions",
    ],
    [
      fp32('[4294967296,4294967296]', '[1]'),
      "INVALID_ARGUMENT invalid shape for input 'A': shape [4294967296,4294967296] causes total element count to exceed maximum size of 9223372036854775807",
    ],
    [
      fp32('[2147483648,2147483648]', '[1]'),
      "INVALID_ARGUMENT byte size overflow for input 'A': element count (4611686018427387904) * data type size (4) exceeds maximum allowed size (9223372036854775807)",
    ],
    [
      fp32('[1,2000000000]', '[1]'),
      "INVALID_ARGUMENT JSON input 'A' has a byte_size (8000000000 bytes) that exceeds the maximum allowed value of 1000 bytes. Use --http-max-input-size to increase the limit.",
    ],
    [fp32('[2,2]', '[1,2,3]'), "INTERNAL Failed to parse 'data' field: shape does not match true shape"],
    [fp32('[2,2]', '[[1,2],[3]]'), "INTERNAL Failed to parse 'data' field: shape does not match true shape"],
    [fp32('[2,2]', '[1,2,3,4,5]'), "INTERNAL Unable to parse 'data': Shape does not match true shape of 'data' field"],
    [fp32('[0]', '[1]'), "INTERNAL Unable to parse 'data': Shape does not match true shape of 'data' field"],
    [typed('BYTES', '["a","b"]'), "INTERNAL Unable to parse 'data': shape does not match true shape of 'data' field"],
    [typed('BYTES', '["a"]', '[1000000000000]'), "INTERNAL Failed to parse 'data' field: shape does not match true shape"],
    [fp32('[1]', '{}'), "INTERNAL Unable to parse 'data': attempt to access JSON non-array as array"],
    [fp32('[1]', '[null]'), "INTERNAL Unable to parse 'data': attempt to access JSON non-number as double"],
    [fp32('[1]', '["1"]'), "INTERNAL Unable to parse 'data': attempt to access JSON non-number as double"],
    [typed('BOOL', '[1]'), "INTERNAL Unable to parse 'data': attempt to access JSON non-boolean as boolean"],
    [typed('INT32', '[1.0]'), "INTERNAL Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    [typed('INT64', '[1e3]'), "INTERNAL Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    [typed('INT32', '[[[2.0]]]'), "INTERNAL Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    [typed('INT32', '[NaN]'), "INTERNAL Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    [
      typed('INT64', '[9223372036854775808]'),
      "INTERNAL Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer",
    ],
    [typed('UINT8', '[-1]'), "INTERNAL Unable to parse 'data': attempt to access JSON non-unsigned-integer as unsigned-integer"],
    [typed('BYTES', '[1]'), 'INTERNAL Unable to parse JSON bytes array: attempt to access JSON non-string as string'],
    [typed('FP16', '[1]'), 'INVALID_ARGUMENT receiving FP16 data via JSON is not supported. Please use the binary data format for input A'],
    [typed('BF16', '[1]'), 'INVALID_ARGUMENT receiving BF16 data via JSON is not supported. Please use the binary data format for input A'],
    [typed('fp32', '[1]'), 'INVALID_ARGUMENT invalid datatype for input A'],
    [
      input('"name":"A","datatype":"float","shape":[1],"parameters":{"binary_data_size":0}'),
      "INVALID_ARGUMENT [request id: <id_unknown>] inference input 'A' data-type is '<invalid>', but model 'M' expects 'FP32'",
    ],
    [
      input('"name":"A","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":-1}'),
      "INTERNAL Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      input('"name":"A","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}'),
      "INVALID_ARGUMENT unexpected size for input 'A', expecting 4 additional bytes for model 'M'",
    ],
    [
      `{"id":"q","inputs":[${Array(2).fill('{"name":"A","datatype":"FP32","shape":[1],"data":[1]}').join(',')}]}`,
      "INVALID_ARGUMENT [request id: q] input 'A' already exists in request",
    ],
    [
      input('"name":"A","datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":4}'),
      "UNIMPLEMENTED 'shared_memory_region' of input 'A' is not supported by this version of Weir",
    ],
    ['{"inputs":[],"outputs":{}}', "INTERNAL Unable to parse 'outputs': attempt to access JSON non-array as array"],
    ['{"inputs":[],"outputs":[{}]}', "INTERNAL Unable to parse 'name': attempt to access non-existing object member 'name'"],
    [
      '{"inputs":[],"outputs":[{"name":"O","parameters":{"classification":"x"}}]}',
      "INTERNAL Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      '{"inputs":[],"outputs":[{"name":"O","parameters":{"binary_data":1}}]}',
      "INTERNAL Unable to parse 'binary_data': attempt to access JSON non-boolean as boolean",
    ],
    [
      '{"inputs":[],"outputs":[{"name":"O","parameters":{"shared_memory_region":"r","classification":1}}]}',
      "INVALID_ARGUMENT Output can't set both 'shared_memory_region' and 'classification'",
    ],
    [
      '{"inputs":[],"outputs":[{"name":"O","parameters":{"shared_memory_region":"r","binary_data":true}}]}',
      "INVALID_ARGUMENT Output can't set both 'shared_memory_region' and 'binary_data'",
    ],
    [
      '{"inputs":[],"outputs":[{"name":"O","parameters":{"shared_memory_region":"r"}}]}',
      "UNIMPLEMENTED 'shared_memory_region' of output 'O' is not supported by this version of Weir",
    ],
  ])('%s', (json, message) => {
    expect(failure(json)).toBe(message);
  });

  it('says how many bytes of a binary input are missing, and that some are left', () => {
    const eight = input('"name":"A","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}');
    expect(failure(eight, Buffer.alloc(5))).toBe(
      "INVALID_ARGUMENT unexpected size for input 'A', expecting 3 additional bytes for model 'M'",
    );
    expect(failure(eight, Buffer.alloc(9))).toBe("INVALID_ARGUMENT unexpected additional input data for model 'M'");
    expect(failure('{"inputs":[],"outputs":5}', Buffer.alloc(1))).toBe("INVALID_ARGUMENT unexpected additional input data for model 'M'");
  });

  it('takes a JSON tensor of exactly the limit', () => {
    expect(failure(fp32('[4]', '[1,2,3,4]'), undefined, 16)).toBe('none');
    expect(failure(fp32('[4]', '[1,2,3,4]'), undefined, 15)).toContain('(16 bytes) that exceeds the maximum allowed value of 15 bytes');
    expect(failure(typed('BYTES', '["abcd"]'), undefined, 7)).toContain('(8 bytes) that exceeds the maximum allowed value of 7 bytes');
  });
});
