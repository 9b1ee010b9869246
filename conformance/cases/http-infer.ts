import { deflateSync, gzipSync } from 'node:zlib';
import { type Datatype, datatypes } from '../../src/streams/tensors/datatype.ts';
import type { HttpCase } from '../case.ts';
import { binaryBody, floats, integers, samples } from '../samples.ts';

const infer = (name: string, model: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): HttpCase => ({
  kind: 'http',
  name: `HTTP infer: ${name}`,
  method: 'POST',
  path: `/v2/models/${model}/infer`,
  body,
  headers,
});

const identity = (datatype: Datatype): string => `identity_${datatype.toLowerCase()}`;

const jsonInput = (datatype: string, shape: readonly number[], data: string): string =>
  `{"name":"INPUT0","shape":${JSON.stringify(shape)},"datatype":"${datatype}","data":${data}}`;

const jsonBody = (datatype: string, shape: readonly number[], data: string, more = ''): string =>
  `{"inputs":[${jsonInput(datatype, shape, data)}]${more}}`;

const binaryInput = (datatype: string, shape: readonly number[], bytes: Buffer) => ({
  name: 'INPUT0',
  shape,
  datatype,
  parameters: { binary_data_size: bytes.length },
});

const outputs = (binary: boolean) => [{ name: 'OUTPUT0', parameters: { binary_data: binary } }];

const everyDatatype = datatypes.flatMap((datatype) => {
  const { json, bytes } = samples[datatype];
  const head = { id: 'x', inputs: [binaryInput(datatype, [1, 3], bytes)] };
  const allBinary = binaryBody({ ...head, parameters: { binary_data_output: true } }, bytes);
  const listed = binaryBody({ ...head, outputs: outputs(true) }, bytes);
  const toJson = binaryBody({ ...head, outputs: outputs(false) }, bytes);
  const empty = binaryBody({ inputs: [binaryInput(datatype, [1, 0], Buffer.alloc(0))], parameters: { binary_data_output: true } });
  return [
    infer(`${datatype} JSON both ways`, identity(datatype), jsonBody(datatype, [1, 3], json ?? '[1,2,3]')),
    infer(`${datatype} binary both ways`, identity(datatype), allBinary.body, allBinary.headers),
    infer(`${datatype} binary, output listed`, identity(datatype), listed.body, listed.headers),
    infer(`${datatype} binary to JSON`, identity(datatype), toJson.body, toJson.headers),
    infer(`${datatype} without elements`, identity(datatype), empty.body, empty.headers),
    infer(`${datatype} as another datatype`, identity(datatype), jsonBody(datatype === 'INT32' ? 'UINT32' : 'INT32', [1, 3], '[1,2,3]')),
  ];
});

const fp32 = (body: string, name: string): HttpCase => infer(name, 'identity_fp32', body);
const one = (input: string): string => `{"inputs":[${input}]}`;

const shapesAndData = [
  fp32(jsonBody('FP32', [2, 2], '[[1,2],[3,4]]'), 'nested data'),
  fp32(jsonBody('FP32', [2, 2], '[1,2,3,4]'), 'flat data of two rows'),
  fp32(jsonBody('FP32', [2, 2], '[[1],[2,3,4]]'), 'nesting that disagrees with the shape'),
  fp32(jsonBody('FP32', [2, 2], '[1,2,3]'), 'too few values'),
  fp32(jsonBody('FP32', [2, 2], '[1,2,3,4,5]'), 'too many values'),
  infer('too many strings', 'identity_bytes', jsonBody('BYTES', [1, 1], '["a","b"]')),
  infer('too few strings', 'identity_bytes', jsonBody('BYTES', [1, 2], '["a"]')),
  fp32(jsonBody('FP32', [1, 4], '[NaN,Infinity,-Infinity,1]'), 'NaN and infinities'),
  fp32(jsonBody('FP32', [1, 1], '[null]'), 'null among numbers'),
  fp32(jsonBody('FP32', [1, 1], '["1"]'), 'a string among numbers'),
  fp32(jsonBody('FP32', [1, 1], '[true]'), 'a boolean among numbers'),
  fp32(jsonBody('FP32', [1, 1], '1'), 'data that is no array'),
  fp32(jsonBody('FP32', [1, 1], '{}'), 'data that is an object'),
  fp32(jsonBody('FP32', [1, 2], '[1,2e3]'), 'an integer and an exponent'),
  infer('a fraction among integers', 'identity_int32', jsonBody('INT32', [1, 1], '[1.5]')),
  infer('an integer written as fraction', 'identity_int32', jsonBody('INT32', [1, 1], '[1.0]')),
  infer('a fraction among unsigned integers', 'identity_uint32', jsonBody('UINT32', [1, 1], '[1.5]')),
  infer('a negative unsigned integer', 'identity_uint8', jsonBody('UINT8', [1, 1], '[-1]')),
  infer('an integer out of range', 'identity_int8', jsonBody('INT8', [1, 1], '[300]')),
  infer('a number among booleans', 'identity_bool', jsonBody('BOOL', [1, 1], '[1]')),
  infer('a number among strings', 'identity_bytes', jsonBody('BYTES', [1, 1], '[1]')),
  fp32(jsonBody('FP32', [9, 1], '[1,2,3,4,5,6,7,8,9]'), 'a batch beyond the limit'),
  fp32(jsonBody('FP32', [3], '[1,2,3]'), 'a shape without batch'),
  fp32(jsonBody('FP32', [1, 1, 1], '[1]'), 'a shape of too many dimensions'),
  fp32(jsonBody('FP32', [], '[1]'), 'a shape without dimensions'),
  infer('a fixed shape missed', 'labelled', jsonBody('FP32', [1, 4], '[1,2,3,4]')),
  infer('a fixed shape missed without batching', 'plain', jsonBody('FP32', [2, 3], '[1,2,3,4,5,6]')),
  infer('a shape without batching', 'plain', jsonBody('FP32', [2, 2], '[1,2,3,4]')),
  infer('version 1 of two', 'plain/versions/1', jsonBody('FP32', [2, 2], '[1,2,3,4]')),
  infer('a version that is not there', 'plain/versions/2', jsonBody('FP32', [2, 2], '[1,2,3,4]')),
  infer('no elements without batching', 'plain_any', jsonBody('INT64', [0, 3], '[]')),
  infer('reshape', 'reshaped', jsonBody('INT32', [2, 4], '[1,2,3,4,5,6,7,8]')),
  infer('reshape of a scalar', 'scalar', jsonBody('FP32', [2, 1], '[1,2]')),
];

const malformed = [
  fp32('', 'an empty body'),
  fp32('{', 'half a body'),
  fp32('[]', 'an array as body'),
  fp32('nothing', 'no JSON at all'),
  fp32('{}', 'no inputs'),
  fp32('{"inputs":[]}', 'an empty list of inputs'),
  fp32('{"inputs":{}}', 'inputs that are no list'),
  fp32('{"inputs":[1]}', 'an input that is no object'),
  fp32(one('{"shape":[1,1],"datatype":"FP32","data":[1]}'), 'an input without name'),
  fp32(one('{"name":7,"shape":[1,1],"datatype":"FP32","data":[1]}'), 'a name that is a number'),
  fp32(one('{"name":"INPUT0","datatype":"FP32","data":[1]}'), 'an input without shape'),
  fp32(one('{"name":"INPUT0","shape":"1","datatype":"FP32","data":[1]}'), 'a shape that is a string'),
  fp32(one('{"name":"INPUT0","shape":["a"],"datatype":"FP32","data":[1]}'), 'a dimension that is a string'),
  fp32(one('{"name":"INPUT0","shape":[-1,1],"datatype":"FP32","data":[1]}'), 'a negative dimension'),
  fp32(one('{"name":"INPUT0","shape":[1.5,1],"datatype":"FP32","data":[1]}'), 'a fraction as dimension'),
  fp32(one('{"name":"INPUT0","shape":[null],"datatype":"FP32","data":[1]}'), 'null as dimension'),
  fp32(one('{"name":"INPUT0","shape":[1,1],"data":[1]}'), 'an input without datatype'),
  fp32(one('{"name":"INPUT0","shape":[1,1],"datatype":"FLOAT","data":[1]}'), 'an unknown datatype'),
  fp32(one('{"name":"INPUT0","shape":[1,1],"datatype":5,"data":[1]}'), 'a datatype that is a number'),
  fp32(one('{"name":"INPUT0","shape":[1,1],"datatype":"FP32"}'), 'an input without data'),
  fp32(one('{"name":"OTHER","shape":[1,1],"datatype":"FP32","data":[1]}'), 'an unknown input'),
  fp32(`{"inputs":[${jsonInput('FP32', [1, 1], '[1]')},${jsonInput('FP32', [1, 1], '[1]')}]}`, 'an input given twice'),
  infer('an input missing', 'add_sub', jsonBody('INT32', [1, 16], JSON.stringify(Array(16).fill(1)))),
  fp32(jsonBody('FP32', [1, 1], '[1]', ',"outputs":[{"name":"OTHER"}]'), 'an unknown output'),
  fp32(jsonBody('FP32', [1, 1], '[1]', ',"outputs":[{}]'), 'an output without name'),
  fp32(jsonBody('FP32', [1, 1], '[1]', ',"outputs":{}'), 'outputs that are no list'),
  fp32(jsonBody('FP32', [1, 1], '[1]', ',"outputs":[]'), 'an empty list of outputs'),
  fp32(jsonBody('FP32', [1, 1], '[1]', ',"outputs":[{"name":"OUTPUT0"},{"name":"OUTPUT0"}]'), 'an output asked for twice'),
  fp32(
    jsonBody('FP32', [1, 1], '[1]', ',"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":"yes"}}]'),
    'binary_data that is no boolean',
  ),
  fp32(jsonBody('FP32', [1, 1], '[1]', ',"id":7'), 'an id that is a number'),
  fp32(jsonBody('FP32', [1, 1], '[1]', ',"id":"seven"'), 'an id'),
  fp32(jsonBody('FP32', [1, 1], '[1]', ',"unheard":{"of":1}'), 'a key that nobody knows'),
];

const parameters = (text: string, name: string): HttpCase =>
  fp32(jsonBody('FP32', [1, 1], '[1]', `,"parameters":${text}`), `parameters: ${name}`);

const withParameters = [
  parameters('{}', 'none'),
  parameters('[]', 'a list'),
  parameters('{"mine":"text","number":5,"flag":true,"real":1.5}', 'of every kind'),
  parameters('{"mine":[1]}', 'an array'),
  parameters('{"mine":{}}', 'an object'),
  parameters('{"mine":null}', 'null'),
  parameters('{"triton_mine":1}', 'a reserved name'),
  parameters('{"priority":1,"timeout":1000000}', 'priority and timeout'),
  parameters('{"priority":-1}', 'a negative priority'),
  parameters('{"priority":"1"}', 'a priority that is a string'),
  parameters('{"timeout":"1"}', 'a timeout that is a string'),
  parameters('{"sequence_id":5,"sequence_start":true,"sequence_end":true}', 'a sequence'),
  parameters('{"sequence_id":"five"}', 'a sequence by name'),
  parameters('{"sequence_id":true}', 'a sequence id that is a boolean'),
  parameters('{"sequence_start":1}', 'sequence_start that is a number'),
  parameters(`{"sequence_id":"${'x'.repeat(129)}"}`, 'a sequence name of 129 characters'),
  parameters('{"binary_data_output":"yes"}', 'binary_data_output that is no boolean'),
];

const sized = (
  size: unknown,
  bytes: Buffer,
  more: Readonly<Record<string, string>> = {},
  input: object = {},
): Pick<HttpCase, 'body' | 'headers'> => {
  const { body, headers } = binaryBody(
    { inputs: [{ name: 'INPUT0', shape: [1, 2], datatype: 'FP32', parameters: { binary_data_size: size }, ...input }] },
    bytes,
  );
  return { body, headers: { ...headers, ...more } };
};

const binary = (name: string, { body = '', headers = {} }: Pick<HttpCase, 'body' | 'headers'>): HttpCase =>
  infer(`binary: ${name}`, 'identity_fp32', body, headers);

const header = (value: string): Readonly<Record<string, string>> => ({ 'inference-header-content-length': value });

const framing = [
  binary('exact size', sized(8, floats(1, 2))),
  binary('more claimed than sent', sized(12, floats(1, 2))),
  binary('less claimed than sent', sized(4, floats(1, 2))),
  binary('bytes left over', sized(8, floats(1, 2, 3))),
  binary('size that is a string', sized('8', floats(1, 2))),
  binary('negative size', sized(-8, floats(1, 2))),
  binary('size and data', sized(8, floats(1, 2), {}, { data: [1, 2] })),
  binary('size that disagrees with the shape', sized(12, floats(1, 2, 3))),
  binary('header length too large', sized(8, floats(1, 2), header('100000'))),
  binary('header length negative', sized(8, floats(1, 2), header('-1'))),
  binary('header length no number', sized(8, floats(1, 2), header('abc'))),
  binary('header length beyond 32 bits', sized(8, floats(1, 2), header('99999999999'))),
  binary('header length too small', sized(8, floats(1, 2), header('10'))),
  infer('raw body', 'identity_fp32', floats(1, 2), header('0')),
  infer('raw body of a fixed shape', 'labelled', floats(1, 2, 3), header('0')),
  infer('raw body of the wrong size', 'labelled', floats(1, 2), header('0')),
  infer('raw body to two inputs', 'add_sub', integers(1), header('0')),
  infer('raw body to two variable dimensions', 'plain_any', floats(1, 2), header('0')),
  infer('raw body of strings with variable dims', 'identity_bytes', 'text', header('0')),
  infer('string whose length overruns', 'identity_bytes', ...framed('BYTES', [1, 1], Buffer.from('ff00000061', 'hex'))),
  infer('string count too small', 'identity_bytes', ...framed('BYTES', [1, 2], Buffer.from('0100000061', 'hex'))),
  infer('string count too large', 'identity_bytes', ...framed('BYTES', [1, 1], Buffer.from('01000000610100000062', 'hex'))),
  infer('string length cut', 'identity_bytes', ...framed('BYTES', [1, 2], Buffer.from('01000000610100', 'hex'))),
  infer('strings that are no UTF-8, binary', 'identity_bytes', ...framed('BYTES', [1, 1], Buffer.from('02000000fffe', 'hex'), true)),
];

function framed(datatype: string, shape: readonly number[], bytes: Buffer, isBinaryOutput = false): [Buffer, Record<string, string>] {
  const { body, headers } = binaryBody(
    { inputs: [binaryInput(datatype, shape, bytes)], ...(isBinaryOutput ? { parameters: { binary_data_output: true } } : {}) },
    bytes,
  );
  return [body, headers];
}

const plainBody = jsonBody('FP32', [1, 2], '[1,2]');
const compression = [
  infer('gzip body', 'identity_fp32', gzipSync(plainBody), { 'content-encoding': 'gzip' }),
  infer('deflate body', 'identity_fp32', deflateSync(plainBody), { 'content-encoding': 'deflate' }),
  infer('identity encoding', 'identity_fp32', plainBody, { 'content-encoding': 'identity' }),
  infer('unknown encoding', 'identity_fp32', plainBody, { 'content-encoding': 'br' }),
  infer('gzip that is none', 'identity_fp32', plainBody, { 'content-encoding': 'gzip' }),
  infer('gzip answer', 'identity_fp32', plainBody, { 'accept-encoding': 'gzip' }),
  infer('deflate answer', 'identity_fp32', plainBody, { 'accept-encoding': 'deflate' }),
  infer('weighted answer', 'identity_fp32', plainBody, { 'accept-encoding': 'deflate;q=0.5, gzip;q=0.9' }),
  infer('answer of an unknown encoding', 'identity_fp32', plainBody, { 'accept-encoding': 'br' }),
];

const classify = (count: unknown, name: string, rows = 1): HttpCase =>
  infer(
    `classification: ${name}`,
    'labelled',
    jsonBody(
      'FP32',
      [rows, 3],
      JSON.stringify([0.1, 0.7, 0.2, 3, 2, 1].slice(0, 3 * rows)),
      `,"outputs":[{"name":"OUTPUT0","parameters":{"classification":${JSON.stringify(count)}}}]`,
    ),
  );

const classes = [
  classify(1, 'one'),
  classify(2, 'two, one without label'),
  classify(10, 'more than there are', 2),
  classify(0, 'none'),
  classify(-1, 'negative'),
  classify('1', 'a string'),
  infer(
    'classification: of integers',
    'identity_int32',
    jsonBody('INT32', [1, 3], '[3,9,5]', ',"outputs":[{"name":"OUTPUT0","parameters":{"classification":2}}]'),
  ),
];

const pairs = [
  infer('optional input left out', 'pair', jsonBody('FP32', [1, 2], '[1,2]')),
  infer(
    'optional input given',
    'pair',
    `{"inputs":[${jsonInput('FP32', [1, 2], '[1,2]')},{"name":"INPUT1","shape":[1,1],"datatype":"BYTES","data":["a"]}]}`,
  ),
  infer('two inputs that disagree in rows', 'add_sub', twoInputs(1, 2)),
  infer('two inputs', 'add_sub', twoInputs(2, 2)),
  infer('one output of two', 'add_sub', twoInputs(1, 1, ',"outputs":[{"name":"OUTPUT1"}]')),
  infer('outputs in another order', 'add_sub', twoInputs(1, 1, ',"outputs":[{"name":"OUTPUT1"},{"name":"OUTPUT0"}]')),
];

function twoInputs(firstRows: number, secondRows: number, more = ''): string {
  const input = (name: string, rows: number): string =>
    JSON.stringify({ name, shape: [rows, 16], datatype: 'INT32', data: Array.from({ length: 16 * rows }, (_, i) => i) });
  return `{"inputs":[${input('INPUT0', firstRows)},${input('INPUT1', secondRows)}]${more}}`;
}

export const httpInfer: readonly HttpCase[] = [
  ...everyDatatype,
  ...shapesAndData,
  ...malformed,
  ...withParameters,
  ...framing,
  ...compression,
  ...classes,
  ...pairs,
];
