import type { Fields } from '../../frontends/grpc/support/client.ts';

const many = 'model_transaction_policy { decoupled: true }';
const oneInstance = 'instance_group { count: 1 kind: KIND_CPU }';

/** `config.pbtxt` of a model that answers with each element of IN after its DELAY in milliseconds, and is free after WAIT. */
export const repeatConfig = (more = many): string => `
backend: "repeat"
input [
  { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] },
  { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] },
  { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
]
output [
  { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] },
  { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
]
${oneInstance} ${more}
`;

/** `config.pbtxt` of a model that answers n times with n. */
export const squareConfig = (more = '', parameters: Readonly<Record<string, number>> = {}): string => `
backend: "square"
input { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
${Object.entries(parameters)
  .map(([key, value]) => `parameters { key: "${key}" value { string_value: "${value}" } }`)
  .join('\n')}
${oneInstance} ${many} ${more}
`;

const bytesOf = (values: readonly number[]): Buffer => Buffer.from(Int32Array.from(values).buffer);

interface Repeat {
  readonly values: readonly number[];
  /** As many. */
  readonly delays: readonly number[];
  readonly wait?: number;
}

/** A gRPC request to a model of `repeatConfig`. */
export const askRepeat = (model: string, id: string, { values, delays, wait = 0 }: Repeat, fields: Fields = {}): Fields => ({
  model_name: model,
  id,
  inputs: [
    { name: 'IN', datatype: 'INT32', shape: [values.length] },
    { name: 'DELAY', datatype: 'UINT32', shape: [delays.length] },
    { name: 'WAIT', datatype: 'UINT32', shape: [1] },
  ],
  raw_input_contents: [bytesOf(values), bytesOf(delays), bytesOf([wait])],
  ...fields,
});

/** A gRPC request to a model of `squareConfig`; `shape` is [1, 1] where it batches. */
export const askSquare = (model: string, id: string, value: number, { shape = [1], ...fields }: Fields = {}): Fields => ({
  model_name: model,
  id,
  inputs: [{ name: 'IN', datatype: 'INT32', shape }],
  raw_input_contents: [bytesOf([value])],
  ...fields,
});

/** The same as JSON, for HTTP and WebSocket. */
export const repeatJson = (id: string, { values, delays, wait = 0 }: Repeat) => ({
  id,
  inputs: [
    { name: 'IN', datatype: 'INT32', shape: [values.length], data: values },
    { name: 'DELAY', datatype: 'UINT32', shape: [delays.length], data: delays },
    { name: 'WAIT', datatype: 'UINT32', shape: [1], data: [wait] },
  ],
});

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** `a: 5 @1` for OUT 5 and IDX 1 of request a, ` last` with the final flag; `a: error` with its text; `a: end` for an empty last one. */
export const sayMessage = (message: Fields): string => {
  const response = fieldsOf(message.infer_response);
  const final = fieldsOf(fieldsOf(response.parameters).triton_final_response).bool_param === true ? ' last' : '';
  if (message.error_message !== '') return `${response.id}: ${message.error_message}${final}`;
  const contents: readonly unknown[] = Array.isArray(response.raw_output_contents) ? response.raw_output_contents : [];
  const [out, index] = contents.map((bytes) => (bytes instanceof Uint8Array ? Buffer.from(bytes).readInt32LE() : Number.NaN));
  if (out === undefined) return `${response.id}: end${final}`;
  return `${response.id}: ${out}${index === undefined ? '' : ` @${index}`}${final}`;
};
