import onnxProto from 'onnx-proto';

/** The few words of ONNX's protobuf that building the examples takes. */
const { onnx } = onnxProto;

export const { ModelProto } = onnx;
export type Model = InstanceType<typeof onnx.ModelProto>;

type Dim = number | string;

const { FLOAT, INT32, INT64 } = onnx.TensorProto.DataType;
export const elementTypes = { FLOAT, INT32, INT64 };

/** A graph's input or output; a string is a dimension of any size. */
export const valueInfo = (name: string, elemType: number, shape: readonly Dim[]) =>
  onnx.ValueInfoProto.create({
    name,
    type: {
      tensorType: { elemType, shape: { dim: shape.map((size) => (typeof size === 'string' ? { dimParam: size } : { dimValue: size })) } },
    },
  });

const attribute = (name: string, value: number | readonly number[]) =>
  typeof value === 'number'
    ? onnx.AttributeProto.create({ name, type: onnx.AttributeProto.AttributeType.INT, i: value })
    : onnx.AttributeProto.create({ name, type: onnx.AttributeProto.AttributeType.INTS, ints: [...value] });

export const node = (
  opType: string,
  input: readonly string[],
  output: readonly string[],
  attributes: Readonly<Record<string, number | readonly number[]>> = {},
) =>
  onnx.NodeProto.create({
    name: `weir/${output.join('+')}`,
    opType,
    input: [...input],
    output: [...output],
    attribute: Object.entries(attributes).map(([name, value]) => attribute(name, value)),
  });

/** A constant of 64-bit integers; `dims` `[]` is a scalar. */
export const int64Constant = (name: string, dims: readonly number[], values: readonly number[]) =>
  onnx.TensorProto.create({ name, dataType: INT64, dims: [...dims], int64Data: [...values] });

export interface Graph {
  readonly name: string;
  readonly nodes: readonly ReturnType<typeof node>[];
  readonly inputs: readonly ReturnType<typeof valueInfo>[];
  readonly outputs: readonly ReturnType<typeof valueInfo>[];
  readonly constants?: readonly ReturnType<typeof int64Constant>[];
}

export const encodeModel = ({ name, nodes, inputs, outputs, constants = [] }: Graph, opset: number): Uint8Array =>
  onnx.ModelProto.encode({
    irVersion: 8,
    producerName: 'weir-examples',
    opsetImport: [{ domain: '', version: opset }],
    graph: { name, node: [...nodes], input: [...inputs], output: [...outputs], initializer: [...constants] },
  }).finish();
