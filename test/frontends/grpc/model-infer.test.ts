import { Metadata, status } from '@grpc/grpc-js';
import { of, throwError } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { Fields } from './support/client.ts';
import { counting, ErrorLog, echo, echoing, filling, HeldModel, TestDataPlane, variableSpec } from './support/data-plane.ts';
import { noCounts, type Serving, serve } from './support/serving.ts';

const held = new HeldModel();
const log = new ErrorLog();
let lastRequest: InferRequest | undefined;
let dataPlane: TestDataPlane;
let serving: Serving;

beforeAll(async () => {
  dataPlane = new TestDataPlane()
    .add(variableSpec('echo'), (request) => {
      lastRequest = request;
      return echoing(request);
    })
    .add(variableSpec('fill'), filling)
    .add(variableSpec('held'), held.infer)
    .add(variableSpec('stream', { decoupled: true }), counting(2))
    .add(variableSpec('none'), counting(0))
    .add(variableSpec('full'), () =>
      throwError(() => new InferError('UNAVAILABLE', '[request id: <id_unknown>] Exceeds maximum queue size', { reason: 'REJECTED' })),
    )
    .add(variableSpec('broken'), () => throwError(() => new TypeError('x is not a function')));
  serving = await serve(dataPlane, { log });
});
afterAll(() => serving.stop());

const input = (fields: Fields = {}): Fields => ({ name: 'IN', datatype: 'UINT8', shape: [1], ...fields });
const raw = (fields: Fields = {}): Fields => ({
  model_name: 'echo',
  inputs: [input()],
  raw_input_contents: [Buffer.of(1)],
  ...fields,
});
const rawOutput = (answer: Fields): Buffer => {
  const [first] = answer.raw_output_contents as Buffer[];
  if (first === undefined) throw new Error('no raw output');
  return first;
};
const invalid = (details: string) => ({ code: status.INVALID_ARGUMENT, details });

describe('an answer', () => {
  it('has the request id, the model, the version that ran and raw contents only', async () => {
    expect(await serving.client.infer(raw({ id: 'é1' }))).toEqual({
      model_name: 'echo',
      model_version: '1',
      id: 'é1',
      parameters: {},
      outputs: [{ name: 'OUT', datatype: 'UINT8', shape: ['1'], parameters: {}, contents: null }],
      raw_output_contents: [Buffer.of(1)],
    });
  });

  it('carries 6 MB both ways', async () => {
    const large = Buffer.alloc(6_000_000, 'weir');
    const answer = await serving.client.infer(raw({ inputs: [input({ shape: [large.length] })], raw_input_contents: [large] }));
    expect(rawOutput(answer).equals(large)).toBe(true);
  });

  it('is taken from memory that the model uses again', async () => {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(100_000);
    const answer = await serving.client.infer({ model_name: 'fill', inputs: [input({ shape: [4] })], raw_input_contents: [size] });
    expect(rawOutput(answer).equals(Buffer.alloc(100_000, 7))).toBe(true);
  });

  it('may be empty', async () => {
    const answer = await serving.client.infer(raw({ inputs: [input({ shape: [0] })], raw_input_contents: [Buffer.alloc(0)] }));
    expect(answer).toMatchObject({ outputs: [{ shape: ['0'] }], raw_output_contents: [Buffer.alloc(0)] });
  });
});

const bytesElements = [
  Buffer.alloc(0),
  Buffer.of(0),
  Buffer.from('a\0'),
  Buffer.of(0xff, 0xfe),
  Buffer.from('😀'),
  Buffer.alloc(100_000, 'x'),
];
const serialised = Buffer.concat(
  bytesElements.map((element) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(element.length);
    return Buffer.concat([length, element]);
  }),
);

const typed: readonly { readonly datatype: string; readonly contents: Fields; readonly wire: Buffer }[] = [
  { datatype: 'BOOL', contents: { bool_contents: [true, false] }, wire: Buffer.of(1, 0) },
  { datatype: 'INT8', contents: { int_contents: [-128, 127, 300] }, wire: Buffer.of(0x80, 0x7f, 0x2c) },
  { datatype: 'INT16', contents: { int_contents: [-32768, 32767] }, wire: Buffer.of(0, 0x80, 0xff, 0x7f) },
  { datatype: 'INT32', contents: { int_contents: [-2147483648, -1] }, wire: Buffer.of(0, 0, 0, 0x80, 255, 255, 255, 255) },
  {
    datatype: 'INT64',
    contents: { int64_contents: ['-9223372036854775808', '9007199254740993'] },
    wire: Buffer.from('0000000000000080' + '0100000000002000', 'hex'),
  },
  { datatype: 'UINT8', contents: { uint_contents: [255, 256] }, wire: Buffer.of(255, 0) },
  { datatype: 'UINT16', contents: { uint_contents: [65535] }, wire: Buffer.of(255, 255) },
  { datatype: 'UINT32', contents: { uint_contents: [4294967295, 2147483648] }, wire: Buffer.of(255, 255, 255, 255, 0, 0, 0, 0x80) },
  { datatype: 'UINT64', contents: { uint64_contents: ['18446744073709551615'] }, wire: Buffer.alloc(8, 255) },
  { datatype: 'FP32', contents: { fp32_contents: [1.5, Number.NEGATIVE_INFINITY] }, wire: Buffer.from('0000c03f' + '000080ff', 'hex') },
  { datatype: 'FP64', contents: { fp64_contents: [5e-324] }, wire: Buffer.of(1, 0, 0, 0, 0, 0, 0, 0) },
  { datatype: 'BYTES', contents: { bytes_contents: bytesElements }, wire: serialised },
];

describe('typed contents', () => {
  it.each(typed)('of $datatype arrive exact and are answered raw', async ({ datatype, contents, wire }) => {
    const shape = [Object.values(contents).flat().length];
    const answer = await serving.client.infer({ model_name: 'echo', inputs: [input({ datatype, shape, contents })] });
    expect(answer).toMatchObject({ outputs: [{ datatype, contents: null }] });
    expect(rawOutput(answer).equals(wire)).toBe(true);
  });

  it('without elements are an empty tensor', async () => {
    const answer = await serving.client.infer({ model_name: 'echo', inputs: [input({ shape: [0], contents: {} })] });
    expect(rawOutput(answer).length).toBe(0);
  });

  it('of BYTES pass through raw, too', async () => {
    const inputs = [input({ datatype: 'BYTES', shape: [6] })];
    expect(rawOutput(await serving.client.infer({ model_name: 'echo', inputs, raw_input_contents: [serialised] })).equals(serialised)).toBe(
      true,
    );
  });
});

const start = "unexpected explicit tensor data for input tensor 'IN' for model 'echo'";

describe('inputs', () => {
  it.each<[string, Fields, string]>([
    [
      'raw and typed',
      raw({ inputs: [input({ contents: { uint_contents: [1] } })] }),
      "contents field must not be specified when using raw_input_contents for 'IN' for model 'echo'",
    ],
    ['no data', { model_name: 'echo', inputs: [input()] }, "unable to find data for input tensor 'IN' for model 'echo' in request."],
    [
      'another typed field',
      { model_name: 'echo', inputs: [input({ datatype: 'INT32', contents: { fp32_contents: [1] } })] },
      `${start} of type 'FP32', expected datatype 'INT32'`,
    ],
    [
      'a wider integer',
      { model_name: 'echo', inputs: [input({ datatype: 'INT8', contents: { uint_contents: [1] } })] },
      `${start} of type 'UINT32', expected datatype 'INT8'`,
    ],
    [
      'FP16 typed',
      { model_name: 'echo', inputs: [input({ datatype: 'FP16', contents: { fp32_contents: [1] } })] },
      `${start} of type 'FP32', expected datatype 'FP16'`,
    ],
    [
      'no such type, typed',
      { model_name: 'echo', inputs: [input({ datatype: 'float', contents: { fp32_contents: [1] } })] },
      `${start} of type 'FP32', expected datatype '<invalid>'`,
    ],
    [
      'two typed fields',
      { model_name: 'echo', inputs: [input({ datatype: 'INT64', contents: { uint_contents: [1], int64_contents: [1] } })] },
      `${start}, binary data was already supplied.`,
    ],
    [
      'no such datatype',
      raw({ inputs: [input({ datatype: 'fp32' })] }),
      "[request id: <id_unknown>] inference input 'IN' data-type is '<invalid>', but model 'echo' expects 'UINT8'",
    ],
    [
      'no such datatype or input',
      raw({ inputs: [input({ datatype: 'fp32', name: 'X' })] }),
      "unexpected inference input 'X' for model 'echo'",
    ],
    ['the same twice', raw({ id: 'a', inputs: [input(), input()] }), "[request id: a] input 'IN' already exists in request"],
    [
      'a shape past 2^53',
      raw({ inputs: [input({ shape: ['9223372036854775807', 2] })] }),
      "invalid shape for input 'IN': shape [9223372036854775808,2] causes total element count to exceed maximum size of 9223372036854775807",
    ],
  ])('refuses %s', async (_, fields, details) => {
    await expect(serving.client.infer(fields)).rejects.toMatchObject(invalid(details));
  });

  it('does not look at raw entries that no input takes', async () => {
    const answer = await serving.client.infer(raw({ raw_input_contents: [Buffer.of(1), Buffer.of(2)] }));
    expect(answer.raw_output_contents).toEqual([Buffer.of(1)]);
  });
});

const shared = { shared_memory_region: { string_param: 'r' }, shared_memory_byte_size: { int64_param: 4 } };

describe('shared memory', () => {
  const tensors: readonly [string, (parameters: Fields) => Fields][] = [
    ['an input', (parameters) => ({ model_name: 'echo', inputs: [input({ parameters })] })],
    ['an output', (parameters) => raw({ outputs: [{ name: 'IN', parameters }] })],
  ];

  it.each(tensors)('for %s is refused', async (_, ask) => {
    await expect(serving.client.infer(ask(shared))).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: "shared memory for tensor 'IN' is not supported by this version of Weir",
    });
  });

  it.each(
    tensors.flatMap(([what, ask]) => [
      {
        what,
        ask,
        parameters: { ...shared, shared_memory_region: { int64_param: 1 } },
        details: "invalid value type for 'shared_memory_region' parameter for tensor 'IN', expected string_param.",
      },
      {
        what,
        ask,
        parameters: { ...shared, shared_memory_offset: { string_param: '' } },
        details: "invalid value type for 'shared_memory_offset' parameter for tensor 'IN', expected int64_param.",
      },
      {
        what,
        ask,
        parameters: { ...shared, shared_memory_byte_size: { uint64_param: 4 } },
        details: "invalid value type for 'shared_memory_byte_size' parameter for tensor 'IN', expected int64_param.",
      },
      {
        what,
        ask,
        parameters: { shared_memory_offset: { int64_param: 0 } },
        details: "'shared_memory_offset' can not be specified without 'shared_memory_region' parameter for tensor 'IN'",
      },
      {
        what,
        ask,
        parameters: { shared_memory_region: { string_param: 'r' } },
        details: "'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor 'IN'",
      },
    ]),
  )('for $what has parameters that agree: $details', async ({ ask, parameters, details }) => {
    await expect(serving.client.infer(ask(parameters))).rejects.toMatchObject(invalid(details));
  });

  it('does not go with contents', async () => {
    const inputs = [input({ parameters: shared, contents: { uint_contents: [1] } })];
    await expect(serving.client.infer({ model_name: 'echo', inputs })).rejects.toMatchObject(
      invalid("unexpected 'content' provided when using shared memory for input tensor 'IN' for model 'echo'"),
    );
  });

  it('does not go with classification', async () => {
    const outputs = [{ name: 'OUT', parameters: { ...shared, classification: { int64_param: 1 } } }];
    await expect(serving.client.infer(raw({ outputs }))).rejects.toMatchObject(
      invalid("output can't set both 'shared_memory_region' and 'classification'"),
    );
  });
});

describe('outputs', () => {
  it('are passed on once each, with their classes', async () => {
    const outputs = [{ name: 'A' }, { name: 'B', parameters: { classification: { int64_param: 3 } } }, { name: 'A' }];
    await serving.client.infer(raw({ outputs }));
    expect(lastRequest?.outputs).toEqual([
      { name: 'A', classification: 0 },
      { name: 'B', classification: 3 },
    ]);
  });

  it.each([
    [{ string_param: '3' }, "invalid value type for 'classification' parameter, expected int64_param"],
    [{ int64_param: -1 }, "invalid value for 'classification' parameter, expected >= 0"],
  ])('refuses classification %o', async (classification, details) => {
    const outputs = [{ name: 'OUT', parameters: { classification } }];
    await expect(serving.client.infer(raw({ outputs }))).rejects.toMatchObject(invalid(details));
  });
});

describe('parameters', () => {
  it('are told apart', async () => {
    await serving.client.infer(
      raw({
        parameters: {
          sequence_id: { int64_param: '-1' },
          sequence_start: { bool_param: true },
          sequence_end: { bool_param: true },
          priority: { uint64_param: '18446744073709551615' },
          timeout: { int64_param: 5 },
          triton_enable_empty_final_response: { bool_param: true },
          text: { string_param: 'ü' },
          flag: { bool_param: false },
          whole: { int64_param: '-9007199254740993' },
          broken: { double_param: 0.5 },
        },
      }),
    );
    expect(lastRequest).toMatchObject({
      sequenceId: 2n ** 64n - 1n,
      sequenceStart: true,
      sequenceEnd: true,
      priority: 2n ** 64n - 1n,
      timeoutMicroseconds: 5n,
    });
    expect(lastRequest?.parameters).toEqual(
      new Map<string, unknown>([
        ['text', 'ü'],
        ['flag', false],
        ['whole', -9007199254740993n],
        ['broken', 0.5],
      ]),
    );
  });

  it('may name a sequence by a string of 128 bytes', async () => {
    await serving.client.infer(raw({ parameters: { sequence_id: { string_param: 's'.repeat(128) } } }));
    expect(lastRequest?.sequenceId).toBe('s'.repeat(128));
    await expect(serving.client.infer(raw({ parameters: { sequence_id: { string_param: 's'.repeat(129) } } }))).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: 'string correlation ID cannot be longer than 128 characters',
    });
  });

  const reserved =
    "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response";

  it.each<[Fields, string]>([
    [{ sequence_id: { bool_param: true } }, "invalid value type for 'sequence_id' parameter, expected int64_param or string_param."],
    [{ sequence_start: { int64_param: 1 } }, "invalid value type for 'sequence_start' parameter, expected bool_param."],
    [{ sequence_end: {} }, "invalid value type for 'sequence_end' parameter, expected bool_param."],
    [{ priority: { int64_param: -1 } }, "invalid value for 'priority', expected value >= 0."],
    [{ priority: { string_param: '1' } }, "invalid value type for 'priority' parameter, expected int64_param or uint64_param."],
    [{ timeout: { uint64_param: 1 } }, "invalid value type for 'timeout' parameter, expected int64_param."],
    [
      { triton_enable_empty_final_response: { int64_param: 1 } },
      "invalid value type for 'triton_enable_empty_final_response' parameter, expected bool_param.",
    ],
    [{ triton_x: { int64_param: 1 } }, reserved],
    [{ other: { uint64_param: 1 } }, "invalid value type for 'other' parameter, expected int64_param, bool_param, or string_param."],
    [{ other: {} }, "invalid value type for 'other' parameter, expected int64_param, bool_param, or string_param."],
  ])('refuses %o', async (parameters, details) => {
    await expect(serving.client.infer(raw({ parameters }))).rejects.toMatchObject(invalid(details));
  });

  it('of an answer keep their kinds', async () => {
    dataPlane.add(variableSpec('parameters'), (request) => {
      const parameters = new Map<string, string | boolean | bigint | number>([
        ['s', 'x'.repeat(200)],
        ['b', true],
        ['i', -(2n ** 63n)],
        ['d', 0.25],
      ]);
      return of(echo(request, { parameters }));
    });
    const { parameters } = await serving.client.infer(raw({ model_name: 'parameters' }));
    expect(parameters).toMatchObject({
      s: { string_param: 'x'.repeat(200) },
      b: { bool_param: true },
      i: { int64_param: '-9223372036854775808' },
      d: { double_param: 0.25 },
    });
  });
});

describe('models', () => {
  it.each<[string, Fields, number, string]>([
    ['an unknown one', { model_name: 'foo' }, status.NOT_FOUND, "Request for unknown model: 'foo' is not found"],
    [
      'an unknown version',
      { model_name: 'echo', model_version: '9' },
      status.NOT_FOUND,
      "Request for unknown model: 'echo' version 9 is not found",
    ],
    [
      'a version that is no number',
      { model_name: 'foo', model_version: 'one' },
      status.INVALID_ARGUMENT,
      "failed to get model version from specified version string 'one' (details: stol), version should be an integral value > 0",
    ],
    [
      'a negative version',
      { model_name: 'foo', model_version: '-1' },
      status.INVALID_ARGUMENT,
      "invalid model version specified '-1' , version should be an integral value > 0",
    ],
    [
      'a decoupled one',
      { model_name: 'stream' },
      status.UNIMPLEMENTED,
      "ModelInfer RPC doesn't support models with decoupled transaction policy",
    ],
    ['one that is full', { model_name: 'full' }, status.UNAVAILABLE, '[request id: <id_unknown>] Exceeds maximum queue size'],
    ['one that answers nothing', { model_name: 'none' }, status.INTERNAL, 'expected a single response, got 0'],
  ])('fails for %s', async (_, fields, code, details) => {
    await expect(serving.client.infer(raw(fields))).rejects.toMatchObject({ code, details });
  });

  it('fails with INTERNAL for what nobody planned, and logs where it was', async () => {
    await expect(serving.client.infer(raw({ model_name: 'broken' }))).rejects.toMatchObject({
      code: status.INTERNAL,
      details: 'x is not a function',
    });
    expect(log.lines.at(-1)).toContain('TypeError: x is not a function\n    at ');
  });

  it('tells messages of any length and script', async () => {
    dataPlane.add(variableSpec('long'), () => throwError(() => new InferError('INTERNAL', `ünlesbar \ud800 ${'y'.repeat(100_000)}`)));
    const error = await serving.client.infer(raw({ model_name: 'long' })).catch((error) => error);
    expect(error.code).toBe(status.INTERNAL);
    expect(error.details).toMatch(/^ünlesbar \ufffd y+…$/);
  });
});

describe('metadata of a call', () => {
  it('become parameters when their names match', async () => {
    const forwarding = await serve(dataPlane, { headerForwardPattern: 'MY_|priority|triton_' });
    const metadata = (entries: Record<string, string>): Metadata => Metadata.fromHttp2Headers(entries);
    await forwarding.client.infer(raw(), metadata({ x_my_key: 'a', other: 'b' }));
    expect(lastRequest?.parameters).toEqual(new Map([['x_my_key', 'a']]));
    for (const name of ['priority', 'triton_x']) {
      await expect(forwarding.client.infer(raw(), metadata({ [name]: '1' }))).rejects.toMatchObject(
        invalid(`Header '${name}' is reserved for Triton usage and cannot be forwarded.`),
      );
    }
    await forwarding.stop();
  });

  it('stay out without a pattern', async () => {
    await serving.client.infer(raw(), Metadata.fromHttp2Headers({ my_key: 'a' }));
    expect(lastRequest?.parameters.size).toBe(0);
  });
});

describe('a call', () => {
  it('waits for none of the others of its connection while all answers are read, whatever the model may answer', async () => {
    const answers = Array.from({ length: 200 }, () => serving.client.infer(raw({ model_name: 'held' })));
    await held.holds(200);
    held.at(199).finish();
    await held.holds(199);
    while (held.held.length > 0) held.at(0).finish();
    expect(await Promise.all(answers)).toHaveLength(200);
  });

  it('that is cancelled takes its request back', async () => {
    const cancelledBefore = held.cancelled;
    const call = serving.client.cancellable(raw({ model_name: 'held' }));
    call.answer.catch(() => {});
    await held.holds(1);
    call.cancel();
    await held.holds(0);
    expect(held.cancelled).toBe(cancelledBefore + 1);
    await expect(call.answer).rejects.toMatchObject({ code: status.CANCELLED });
  });

  it('whose deadline passes takes its request back', async () => {
    const cancelledBefore = held.cancelled;
    await expect(
      serving.client.call('ModelInfer', raw({ model_name: 'held' }), undefined, undefined, { deadline: Date.now() + 50 }),
    ).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    await held.holds(0);
    expect(held.cancelled).toBe(cancelledBefore + 1);
  });

  it('with bytes that are no message fails alone', async () => {
    await expect(serving.client.infer(Buffer.of(0x0a, 0x7f, 0x61))).rejects.toMatchObject({
      code: status.INTERNAL,
      details: 'failed to parse ModelInferRequest: the message is truncated',
    });
    const inputs = Buffer.concat([Buffer.from('0a046563686f', 'hex'), Buffer.from('2a0c0a02494e12024650' + '2a0208ff', 'hex')]);
    await expect(serving.client.infer(inputs)).rejects.toMatchObject({ code: status.INTERNAL });
    expect(await serving.client.infer(raw())).toMatchObject({ model_name: 'echo' });
  });

  it('leaves nothing in flight', () => {
    expect(serving.server.counters()).toEqual(noCounts);
    expect(dataPlane.running).toBe(0);
  });
});
