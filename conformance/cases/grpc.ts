import { datatypes } from '../../src/streams/tensors/datatype.ts';
import type { CallCase, Case, StreamCase } from '../case.ts';
import { floats, integers, samples } from '../samples.ts';

const call = (name: string, rpc: string, request: object, varies?: RegExp): CallCase => ({
  kind: 'call',
  name: `gRPC ${rpc}: ${name}`,
  rpc,
  request,
  ...(varies === undefined ? {} : { varies }),
});

const ofTheKind = /^message\.(platform|config\.(platform|backend|default_model_filename))$/;
const times = /(\.ns|last_inference|_count|\.count)$/;

const information: readonly CallCase[] = [
  call('alive', 'ServerLive', {}),
  call('ready', 'ServerReady', {}),
  call('metadata', 'ServerMetadata', {}, /^message\.(version|extensions.*)$/),
  call('health check', 'Check', { service: '' }),
  call('health check of a service', 'Check', { service: 'anything' }),
  ...['', '1', '2', '3', '99', 'abc', '-1', '1.5', '99999999999999999999'].flatMap((version) => [
    call(`plain '${version}'`, 'ModelReady', { name: 'plain', version }),
    call(`plain '${version}'`, 'ModelMetadata', { name: 'plain', version }, ofTheKind),
    call(`plain '${version}'`, 'ModelConfig', { name: 'plain', version }, ofTheKind),
    call(`plain '${version}'`, 'ModelStatistics', { name: 'plain', version }, times),
  ]),
  ...['add_sub', 'labelled', 'pair', 'reshaped', 'scalar'].flatMap((name) => [
    call(name, 'ModelMetadata', { name }, ofTheKind),
    call(name, 'ModelConfig', { name }, ofTheKind),
  ]),
  ...['ModelReady', 'ModelMetadata', 'ModelConfig', 'ModelStatistics'].map((rpc) => call('unknown model', rpc, { name: 'missing' })),
  call('no name', 'ModelMetadata', {}),
  call('a repository by name', 'RepositoryIndex', { repository_name: 'x' }),
  call('in this mode', 'RepositoryModelLoad', { model_name: 'plain' }),
  call('in this mode', 'RepositoryModelUnload', { model_name: 'plain' }),
];

const input = (datatype: string, shape: readonly number[], more: object = {}): object => ({ name: 'INPUT0', datatype, shape, ...more });

const infer = (name: string, request: object): CallCase => call(name, 'ModelInfer', request);

const typed: Readonly<Record<string, object>> = {
  BOOL: { bool_contents: [true, false, true] },
  UINT8: { uint_contents: [0, 7, 255] },
  UINT16: { uint_contents: [0, 7, 65_535] },
  UINT32: { uint_contents: [0, 7, 4_294_967_295] },
  UINT64: { uint64_contents: ['0', '7', '18446744073709551615'] },
  INT8: { int_contents: [-128, 0, 127] },
  INT16: { int_contents: [-32_768, 0, 32_767] },
  INT32: { int_contents: [-2_147_483_648, 0, 2_147_483_647] },
  INT64: { int64_contents: ['-9223372036854775808', '9007199254740993', '9223372036854775807'] },
  FP32: { fp32_contents: [1.5, -0.1, 3.4e38] },
  FP64: { fp64_contents: [1.5, -0.1, 1.7e308] },
  BYTES: { bytes_contents: [Buffer.from(''), Buffer.from('a\0'), Buffer.from([0xff, 0xfe])] },
};

const everyDatatype = datatypes.flatMap((datatype) => {
  const model_name = `identity_${datatype.toLowerCase()}`;
  const contents = typed[datatype];
  return [
    infer(`${datatype} raw`, { model_name, id: 'x', inputs: [input(datatype, [1, 3])], raw_input_contents: [samples[datatype].bytes] }),
    infer(`${datatype} without elements`, { model_name, inputs: [input(datatype, [1, 0])], raw_input_contents: [Buffer.alloc(0)] }),
    ...(contents === undefined ? [] : [infer(`${datatype} typed`, { model_name, inputs: [input(datatype, [1, 3], { contents })] })]),
    infer(`${datatype} in the wrong typed field`, {
      model_name,
      inputs: [input(datatype, [1, 1], { contents: datatype === 'FP32' ? { int_contents: [1] } : { fp32_contents: [1] } })],
    }),
  ];
});

const fp32 = { model_name: 'identity_fp32' };
const raw = { inputs: [input('FP32', [1, 2])], raw_input_contents: [floats(1, 2)] };

const withParameters = (name: string, parameters: object): CallCase => infer(`parameters: ${name}`, { ...fp32, ...raw, parameters });

const inference: readonly CallCase[] = [
  ...everyDatatype,
  infer('unknown model', { model_name: 'missing', ...raw }),
  infer('no model', raw),
  infer('version 1 of two', {
    model_name: 'plain',
    model_version: '1',
    inputs: [input('FP32', [2, 2])],
    raw_input_contents: [floats(1, 2, 3, 4)],
  }),
  infer('newest of two', { model_name: 'plain', inputs: [input('FP32', [2, 2])], raw_input_contents: [floats(1, 2, 3, 4)] }),
  infer('a version that is not there', { ...fp32, model_version: '9', ...raw }),
  infer('a version that is no number', { ...fp32, model_version: 'x', ...raw }),
  infer('a negative version', { ...fp32, model_version: '-1', ...raw }),
  infer('no inputs', fp32),
  infer('an input without data', { ...fp32, inputs: [input('FP32', [1, 2])] }),
  infer('raw and typed', {
    ...fp32,
    inputs: [input('FP32', [1, 2], { contents: { fp32_contents: [1, 2] } })],
    raw_input_contents: [floats(1, 2)],
  }),
  infer('two typed fields', { ...fp32, inputs: [input('FP32', [1, 1], { contents: { fp32_contents: [1], int_contents: [1] } })] }),
  infer('more raw contents than inputs', { ...fp32, ...raw, raw_input_contents: [floats(1, 2), floats(3)] }),
  infer('fewer raw contents than inputs', {
    model_name: 'add_sub',
    inputs: [
      { name: 'INPUT0', datatype: 'INT32', shape: [1, 1] },
      { name: 'INPUT1', datatype: 'INT32', shape: [1, 1] },
    ],
    raw_input_contents: [integers(1)],
  }),
  infer('raw contents too short', { ...fp32, ...raw, raw_input_contents: [floats(1)] }),
  infer('raw contents too long', { ...fp32, ...raw, raw_input_contents: [floats(1, 2, 3)] }),
  infer('typed contents too few', { ...fp32, inputs: [input('FP32', [1, 3], { contents: { fp32_contents: [1] } })] }),
  infer('unknown datatype', { ...fp32, inputs: [input('FLOAT', [1, 2])], raw_input_contents: [floats(1, 2)] }),
  infer('another datatype', { ...fp32, inputs: [input('INT32', [1, 2])], raw_input_contents: [integers(1, 2)] }),
  infer('negative dimension', { ...fp32, inputs: [input('FP32', [1, -1])], raw_input_contents: [floats(1)] }),
  infer('no shape', { ...fp32, inputs: [input('FP32', [])], raw_input_contents: [floats(1)] }),
  infer('a batch beyond the limit', { ...fp32, inputs: [input('FP32', [9, 1])], raw_input_contents: [floats(1, 2, 3, 4, 5, 6, 7, 8, 9)] }),
  infer('a fixed shape missed', { model_name: 'labelled', inputs: [input('FP32', [1, 4])], raw_input_contents: [floats(1, 2, 3, 4)] }),
  infer('unknown input', { ...fp32, inputs: [{ name: 'OTHER', datatype: 'FP32', shape: [1, 1] }], raw_input_contents: [floats(1)] }),
  infer('an input given twice', {
    ...fp32,
    inputs: [input('FP32', [1, 1]), input('FP32', [1, 1])],
    raw_input_contents: [floats(1), floats(2)],
  }),
  infer('unknown output', { ...fp32, ...raw, outputs: [{ name: 'OTHER' }] }),
  infer('one output of two', {
    model_name: 'add_sub',
    inputs: ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'INT32', shape: [1, 16] })),
    raw_input_contents: [integers(...Array(16).fill(3)), integers(...Array(16).fill(1))],
    outputs: [{ name: 'OUTPUT1' }],
  }),
  infer('classification', {
    model_name: 'labelled',
    inputs: [input('FP32', [1, 3])],
    raw_input_contents: [floats(0.1, 0.7, 0.2)],
    outputs: [{ name: 'OUTPUT0', parameters: { classification: { int64_param: 2 } } }],
  }),
  infer('classification that is a string', {
    ...fp32,
    ...raw,
    outputs: [{ name: 'OUTPUT0', parameters: { classification: { string_param: '2' } } }],
  }),
  infer('negative classification', {
    ...fp32,
    ...raw,
    outputs: [{ name: 'OUTPUT0', parameters: { classification: { int64_param: -2 } } }],
  }),
  withParameters('of every kind', {
    text: { string_param: 'x' },
    number: { int64_param: 5 },
    flag: { bool_param: true },
    real: { double_param: 1.5 },
  }),
  withParameters('an unsigned one', { mine: { uint64_param: 5 } }),
  withParameters('an empty one', { mine: {} }),
  withParameters('a reserved name', { triton_mine: { int64_param: 5 } }),
  withParameters('triton_enable_empty_final_response', { triton_enable_empty_final_response: { bool_param: true } }),
  withParameters('triton_enable_empty_final_response that is a number', { triton_enable_empty_final_response: { int64_param: 1 } }),
  withParameters('priority', { priority: { uint64_param: '18446744073709551615' } }),
  withParameters('negative priority', { priority: { int64_param: -1 } }),
  withParameters('priority that is a string', { priority: { string_param: '1' } }),
  withParameters('timeout that is a string', { timeout: { string_param: '1' } }),
  withParameters('a sequence', { sequence_id: { int64_param: 5 }, sequence_start: { bool_param: true } }),
  withParameters('a sequence by name', { sequence_id: { string_param: 'five' } }),
  withParameters('sequence id that is a boolean', { sequence_id: { bool_param: true } }),
  withParameters('sequence_start that is a number', { sequence_start: { int64_param: 1 } }),
  withParameters('sequence_end that is a string', { sequence_end: { string_param: 'true' } }),
  infer('string whose length overruns', {
    model_name: 'identity_bytes',
    inputs: [input('BYTES', [1, 1])],
    raw_input_contents: [Buffer.from('ff00000061', 'hex')],
  }),
  infer('string count too large', {
    model_name: 'identity_bytes',
    inputs: [input('BYTES', [1, 1])],
    raw_input_contents: [Buffer.from('01000000610100000062', 'hex')],
  }),
  infer('reshape', { model_name: 'reshaped', inputs: [input('INT32', [1, 4])], raw_input_contents: [integers(1, 2, 3, 4)] }),
  infer('reshape of a scalar', { model_name: 'scalar', inputs: [input('FP32', [2, 1])], raw_input_contents: [floats(1, 2)] }),
  infer('optional input left out', { model_name: 'pair', inputs: [input('FP32', [1, 2])], raw_input_contents: [floats(1, 2)] }),
];

const stream = (name: string, requests: readonly object[], metadata?: Readonly<Record<string, string>>): StreamCase => ({
  kind: 'stream',
  name: `gRPC stream: ${name}`,
  requests,
  ...(metadata === undefined ? {} : { metadata }),
});

const good = (id: string): object => ({ ...fp32, ...raw, id });

const streams: readonly StreamCase[] = [
  stream('nothing', []),
  stream('one', [good('a')]),
  stream(
    'many in order',
    Array.from({ length: 20 }, (_, index) => good(String(index))),
  ),
  stream('a model that is not there', [{ model_name: 'missing', ...raw, id: 'b' }]),
  stream('a bad request between good ones', [
    good('a'),
    { ...fp32, inputs: [input('FP32', [1, 3])], raw_input_contents: [floats(1)], id: 'b' },
    good('c'),
  ]),
  stream('a bad version', [{ ...fp32, model_version: 'x', ...raw, id: 'b' }]),
  stream('an input without data', [{ ...fp32, inputs: [input('FP32', [1, 2])], id: 'b' }, good('c')]),
  stream('a reserved parameter', [{ ...good('a'), parameters: { triton_mine: { bool_param: true } } }]),
  stream('empty final asked for', [{ ...good('a'), parameters: { triton_enable_empty_final_response: { bool_param: true } } }]),
  stream('strict errors', [{ model_name: 'missing', ...raw, id: 'b' }, good('c')], { triton_grpc_error: 'true' }),
];

export const grpcCases: readonly Case[] = [...information, ...inference, ...streams];
