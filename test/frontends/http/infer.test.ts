import { concat, Observable, of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { Infer } from '../../../src/streams/inference/infer.ts';
import { encodeBytesElements } from '../../../src/streams/tensors/bytes-elements.ts';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { makeSpec } from '../../support/model.ts';
import { withModels } from '../../support/overlay.ts';
import { inferResponse } from '../../support/request-fixtures.ts';
import { call, failure, inferBinary, inferJson, jsonInput, splitAnswer } from './support/client.ts';
import { identityDataPlane } from './support/repository.ts';
import { serve } from './support/serving.ts';

const start = async (...models: readonly string[]): Promise<number> => (await serve(await identityDataPlane(...models))).port;

const startScripted = async (name: string, infer: Infer): Promise<number> =>
  (await serve(withModels(await identityDataPlane(), [{ spec: makeSpec({ name }), infer }]))).port;

const wide = (...values: readonly bigint[]): Uint8Array => new Uint8Array(BigInt64Array.from(values).buffer);

const everyDatatype: readonly [Datatype, number, Uint8Array][] = [
  ['BOOL', 2, Uint8Array.of(1, 0)],
  ['UINT8', 3, Uint8Array.of(0, 1, 255)],
  ['UINT16', 1, Uint8Array.of(255, 254)],
  ['UINT32', 1, Uint8Array.of(255, 255, 255, 254)],
  ['UINT64', 2, wide(-1n, 9007199254740993n)],
  ['INT8', 2, Uint8Array.of(128, 127)],
  ['INT16', 1, Uint8Array.of(0, 128)],
  ['INT32', 1, Uint8Array.of(0, 0, 0, 128)],
  ['INT64', 3, wide(-(2n ** 63n), 2n ** 63n - 1n, 9007199254740993n)],
  ['FP16', 2, Uint8Array.of(1, 60, 2, 61)],
  ['FP32', 4, new Uint8Array(Float32Array.of(0.1, -0, Number.NaN, -Infinity).buffer)],
  ['FP64', 2, new Uint8Array(Float64Array.of(0.1, 1e300).buffer)],
  ['BYTES', 6, encodeBytesElements(['', '\0', 'a\0', Uint8Array.of(0xff, 0xfe), '😀', 'x'.repeat(100_000)])],
  ['BF16', 2, Uint8Array.of(1, 63, 2, 64)],
];

describe('tensors', () => {
  it('carries every datatype as bytes', async () => {
    const port = await start(...everyDatatype.map(([datatype]) => `identity_${datatype.toLowerCase()}`));
    for (const [datatype, count, bytes] of everyDatatype) {
      const model = `identity_${datatype.toLowerCase()}`;
      const reply = await call(port, inferBinary(model, [{ name: 'INPUT0', datatype, shape: [count], bytes }]));
      const { head, tail } = splitAnswer(reply);
      expect(reply.headers['content-type'], datatype).toBe('application/octet-stream');
      expect(JSON.parse(head)).toEqual({
        model_name: model,
        model_version: '1',
        outputs: [{ name: 'OUTPUT0', datatype, shape: [count], parameters: { binary_data_size: bytes.byteLength } }],
      });
      expect(Buffer.compare(tail, bytes), datatype).toBe(0);
    }
  });

  it.each([
    ['BOOL', '[true,false]'],
    ['UINT8', '[0,255]'],
    ['UINT16', '[65535]'],
    ['UINT32', '[4294967295]'],
    ['UINT64', '[18446744073709551615,9007199254740993]'],
    ['INT8', '[-128,127]'],
    ['INT16', '[-32768]'],
    ['INT32', '[-2147483648]'],
    ['INT64', '[9007199254740993,-9223372036854775808]'],
    ['FP32', '[0.5,NaN,Infinity,-Infinity]'],
    ['FP64', '[0.1,1e-7,NaN,-Infinity]'],
    ['BYTES', '["","é\\u0000","😀"]'],
  ])('carries %s as JSON, digit for digit', async (datatype, data) => {
    const count = data.split(',').length;
    const body = `{"inputs":[{"name":"INPUT0","datatype":"${datatype}","shape":[${count}],"data":${data}}]}`;
    const model = `identity_${datatype.toLowerCase()}`;
    const reply = await call(await start(model), { path: `/v2/models/${model}/infer`, body });
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.text).toContain(`"data":${data}}`);
  });

  it('answers JSON to bytes and bytes to JSON, as each output asks for', async () => {
    const port = await start();
    const bytes = new Uint8Array(Int32Array.of(1, 2, 3, 4).buffer);
    const inputs = ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'INT32', shape: [1, 4], bytes }));
    const outputs = [{ name: 'OUTPUT1', parameters: { binary_data: true } }, { name: 'OUTPUT0' }];
    const reply = await call(port, inferBinary('two', inputs, { id: 'q', outputs }));
    const { head, tail } = splitAnswer(reply);
    expect(JSON.parse(head)).toEqual({
      id: 'q',
      model_name: 'two',
      model_version: '1',
      outputs: [
        { name: 'OUTPUT0', datatype: 'INT32', shape: [1, 4], data: [1, 2, 3, 4] },
        { name: 'OUTPUT1', datatype: 'INT32', shape: [1, 4], parameters: { binary_data_size: 16 } },
      ],
    });
    expect([...tail]).toEqual([...bytes]);
  });

  it('answers application/json where all binary outputs are empty', async () => {
    const reply = await call(
      await start('identity_fp32'),
      inferBinary('identity_fp32', [{ name: 'INPUT0', datatype: 'FP32', shape: [0], bytes: Buffer.alloc(0) }]),
    );
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.headers['inference-header-content-length']).toBeUndefined();
    expect(JSON.parse(reply.text).outputs).toEqual([
      { name: 'OUTPUT0', datatype: 'FP32', shape: [0], parameters: { binary_data_size: 0 } },
    ]);
  });

  it('carries bodies larger than one packet, in both directions', async () => {
    const bytes = Buffer.alloc(3_000_000);
    for (let index = 0; index < bytes.length; index++) bytes[index] = index % 251;
    const question = inferBinary('identity_uint8', [{ name: 'INPUT0', datatype: 'UINT8', shape: [bytes.length], bytes }]);
    const port = await start('identity_uint8');
    for (let turn = 0; turn < 3; turn++) expect(Buffer.compare(splitAnswer(await call(port, question)).tail, bytes)).toBe(0);
  });

  it('reads an answer before its memory is used again', async () => {
    const memory = Uint8Array.of(1, 2, 3, 4);
    const reusing: Infer = () =>
      new Observable((subscriber) => {
        subscriber.next(inferResponse({ OUT: new Tensor('UINT8', [4], memory) }));
        memory.fill(9);
        subscriber.complete();
      });
    const { text } = await call(await startScripted('reusing', reusing), inferJson('reusing', []));
    expect(text).toContain('"data":[1,2,3,4]');
  });

  it('keeps the shape of a scalar', async () => {
    const scalar: Infer = () => of(inferResponse({ OUT: new Tensor('UINT8', [], Uint8Array.of(5)) }));
    expect((await call(await startScripted('scalar', scalar), inferJson('scalar', []))).text).toContain('"shape":[],"data":[5]');
  });
});

describe('a classification', () => {
  it('answers strings, as JSON and as bytes', async () => {
    const port = await start('identity_fp32');
    const inputs = [jsonInput('INPUT0', 'FP32', [0.5, 0.75, 0.25])];
    const ask = (parameters: object) => call(port, inferJson('identity_fp32', inputs, { outputs: [{ name: 'OUTPUT0', parameters }] }));
    expect((await ask({ classification: 2 })).text).toContain(
      '{"name":"OUTPUT0","datatype":"BYTES","shape":[2],"data":["0.750000:1","0.500000:0"]}',
    );
    expect(splitAnswer(await ask({ classification: 1, binary_data: true })).tail).toEqual(encodeBytesElements(['0.750000:1']));
  });
});

describe('what is wrong with a request', () => {
  const one = [jsonInput('INPUT0', 'INT32', [1])];

  it.each([
    ['an unknown model', inferJson('nobody', one), "404 Request for unknown model: 'nobody' is not found"],
    [
      'an unknown version',
      { ...inferJson('x', one), path: '/v2/models/two/versions/9/infer' },
      "404 Request for unknown model: 'two' version 9 is not found",
    ],
    [
      'broken JSON',
      { path: '/v2/models/two/infer', body: '{"inputs":[}' },
      '500 failed to parse the request JSON buffer: Invalid value. at 11',
    ],
    [
      'no inputs',
      { path: '/v2/models/two/infer', body: '{}' },
      "500 Unable to parse 'inputs': attempt to access non-existing object member 'inputs'",
    ],
    [
      'an unknown output',
      inferJson('identity_int32', one, { outputs: [{ name: 'potato' }] }),
      "400 unexpected inference output 'potato' for model 'identity_int32'",
    ],
    [
      'another datatype',
      inferJson('identity_int32', [jsonInput('INPUT0', 'UINT32', [1])], { id: 'q' }),
      "400 [request id: q] inference input 'INPUT0' data-type is 'UINT32', but model 'identity_int32' expects 'INT32'",
    ],
    [
      'FP16 as JSON',
      inferJson('identity_fp16', [jsonInput('INPUT0', 'FP16', [1])]),
      '400 receiving FP16 data via JSON is not supported. Please use the binary data format for input INPUT0',
    ],
    [
      'a shape that claims gigabytes',
      inferJson('identity_int32', [jsonInput('INPUT0', 'INT32', [1], [1, 2_000_000_000])]),
      "400 JSON input 'INPUT0' has a byte_size (8000000000 bytes) that exceeds the maximum allowed value of 67108864 bytes. Use --http-max-input-size to increase the limit.",
    ],
  ])('%s', async (_name, question, message) => {
    expect(await failure(await start('two', 'identity_int32', 'identity_fp16'), question)).toBe(message);
  });

  it('names both shapes', async () => {
    const port = await start();
    const message = await failure(
      port,
      inferJson('two', [jsonInput('INPUT0', 'INT32', [1, 2, 3], [3]), jsonInput('INPUT1', 'INT32', [1, 2, 3], [3])]),
    );
    expect(message).toContain(
      "400 [request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'two'. Expected [-1,4], got [3]",
    );
  });

  it('answers FP16 as JSON with an error, and goes on', async () => {
    const port = await start('identity_fp16');
    const input = { name: 'INPUT0', datatype: 'FP16', shape: [1], bytes: Uint8Array.of(0, 60) };
    expect(await failure(port, inferBinary('identity_fp16', [input], {}))).toBe(
      '400 sending FP16 data via JSON is not supported. Please use the binary data format for output OUTPUT0',
    );
    expect((await call(port, inferBinary('identity_fp16', [input]))).status).toBe(200);
  });

  it('never sends JSON that is none', async () => {
    const bytes = encodeBytesElements([Uint8Array.of(0xff, 0xfe)]);
    expect(
      await failure(
        await start('identity_bytes'),
        inferBinary('identity_bytes', [{ name: 'INPUT0', datatype: 'BYTES', shape: [1], bytes }], {}),
      ),
    ).toBe('400 string element 0 is not valid UTF-8. Please use the binary data format for output OUTPUT0');
  });
});

describe('what a model may do', () => {
  const answer = inferResponse({ OUT: new Tensor('UINT8', [1], Uint8Array.of(1)) });

  it.each<[string, Infer, string]>([
    ['answers nothing', () => of(), '500 expected a single response, got 0'],
    ['answers twice', () => of(answer, answer), '500 expected a single response, got 2'],
    [
      'answers and fails',
      () =>
        concat(
          of(answer),
          throwError(() => new InferError('UNAVAILABLE', 'gone')),
        ),
      '503 gone',
    ],
    ['throws', () => throwError(() => new TypeError('oh')), '500 oh'],
    [
      'throws at once',
      () => {
        throw new InferError('UNKNOWN', 'at once');
      },
      '400 at once',
    ],
    ['has no place', () => throwError(() => new InferError('UNAVAILABLE', 'Exceeds maximum queue size')), '503 Exceeds maximum queue size'],
    ['cannot', () => throwError(() => new InferError('UNIMPLEMENTED', 'no')), '501 no'],
    ['is cancelled', () => throwError(() => new InferError('CANCELLED', 'stopped')), '400 stopped'],
  ])('%s', async (_name, infer, message) => {
    expect(await failure(await startScripted('infer', infer), inferJson('infer', []))).toBe(message);
  });

  it('is not decoupled', async () => {
    const spec = makeSpec({ name: 'stream', decoupled: true });
    const { port } = await serve(withModels(await identityDataPlane(), [{ spec, infer: () => of(answer) }]));
    expect(await failure(port, inferJson('stream', []))).toBe(
      "501 HTTP end point doesn't support models with decoupled transaction policy",
    );
  });

  it('sets parameters of its answer', async () => {
    const infer: Infer = () =>
      of(
        inferResponse(
          {},
          {
            parameters: new Map<string, string | bigint>([
              ['a', 'b'],
              ['n', 3n],
            ]),
          },
        ),
      );
    expect((await call(await startScripted('infer', infer), inferJson('infer', []))).text).toBe(
      '{"model_name":"m","model_version":"1","parameters":{"a":"b","n":3},"outputs":[]}',
    );
  });
});

describe('a raw request', () => {
  const raw = (model: string, body: Uint8Array | string) => ({
    path: `/v2/models/${model}/infer`,
    headers: { 'Inference-Header-Content-Length': '0' },
    body,
  });

  it('is the one tensor of the model, its shape deduced', async () => {
    const port = await start('batched');
    const reply = await call(port, raw('batched', Buffer.alloc(24, 1)));
    const { head, tail } = splitAnswer(reply);
    expect(JSON.parse(head).outputs).toEqual([
      { name: 'OUTPUT0', datatype: 'FP32', shape: [1, 2, 3], parameters: { binary_data_size: 24 } },
    ]);
    expect(tail).toEqual(Buffer.alloc(24, 1));
  });

  it('is one string, without its length', async () => {
    const { tail } = splitAnswer(await call(await start('string'), raw('string', 'words')));
    expect(tail).toEqual(encodeBytesElements(['words']));
  });

  it('is also an empty body', async () => {
    const reply = await call(await start('string'), { path: '/v2/models/string/infer', method: 'POST' });
    expect(splitAnswer(reply).tail).toEqual(encodeBytesElements(['']));
  });

  it.each([
    [
      'two',
      "400 [request id: <id_unknown>] Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'two' model configuration",
    ],
    [
      'matrix',
      "400 [request id: <id_unknown>] The shape of the raw input 'INPUT0' can not be deduced because there are more than one variable-sized dimension",
    ],
    ['strings', "400 [request id: <id_unknown>] For BYTE datatype raw input 'INPUT0', the model must have input shape [1]"],
  ])('is nothing for model %s', async (model, message) => {
    expect(await failure(await start(model), raw(model, 'abcd'))).toBe(message);
  });

  it('must be whole elements', async () => {
    expect(await failure(await start('identity_fp32'), raw('identity_fp32', 'abcde'))).toContain(
      '400 [request id: <id_unknown>] input byte size mismatch',
    );
  });
});
