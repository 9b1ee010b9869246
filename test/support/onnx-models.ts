import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import onnxProto, { type onnx as Onnx } from 'onnx-proto';
import type { Datatype } from '../../src/streams/tensors/datatype.ts';

const { onnx } = onnxProto;

/** A dimension: its size, or a name for any size. */
export type Dim = number | string;

/** A tensor at the edge of a graph; `dims` undefined leaves its rank unsaid. */
export interface TensorInfo {
  readonly name: string;
  readonly datatype: Datatype;
  readonly dims: readonly Dim[] | undefined;
}

/** `[-1]` of a config, `['batch', 16]` here. Defaults of the models below are Triton's names and a leading `batch`. */
interface TensorOptions {
  readonly datatype?: Datatype;
  readonly dims?: readonly Dim[];
}

const elementTypes: Readonly<Record<Datatype, number>> = {
  FP32: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  BYTES: 8,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
  BF16: 16,
};

type AttributeValue = number | string | readonly number[] | { readonly float: number } | { readonly graph: Onnx.GraphProto };

const attribute = (name: string, value: AttributeValue): Onnx.AttributeProto => {
  if (typeof value === 'number') return onnx.AttributeProto.create({ name, type: 2, i: value });
  if (typeof value === 'string') return onnx.AttributeProto.create({ name, type: 3, s: Buffer.from(value) });
  if ('float' in value) return onnx.AttributeProto.create({ name, type: 1, f: value.float });
  if ('graph' in value) return onnx.AttributeProto.create({ name, type: 5, g: value.graph });
  return onnx.AttributeProto.create({ name, type: 7, ints: [...value] });
};

interface NodeOptions {
  readonly domain?: string;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
}

/** One operator of a graph. */
export const node = (opType: string, input: readonly string[], output: readonly string[], options: NodeOptions = {}) =>
  onnx.NodeProto.create({
    opType,
    input: [...input],
    output: [...output],
    domain: options.domain ?? '',
    attribute: Object.entries(options.attributes ?? {}).map(([name, value]) => attribute(name, value)),
  });

/** A constant of a graph, from little-endian elements. */
export const initializer = (name: string, datatype: Datatype, dims: readonly number[], values: ArrayBufferView) =>
  onnx.TensorProto.create({
    name,
    dataType: elementTypes[datatype],
    dims: [...dims],
    rawData: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  });

const tensorType = ({ datatype, dims }: Pick<TensorInfo, 'datatype' | 'dims'>) => ({
  elemType: elementTypes[datatype],
  ...(dims === undefined ? {} : { shape: { dim: dims.map((dim) => (typeof dim === 'string' ? { dimParam: dim } : { dimValue: dim })) } }),
});

const valueInfo = (tensor: TensorInfo) => onnx.ValueInfoProto.create({ name: tensor.name, type: { tensorType: tensorType(tensor) } });

type ValueInfo = Onnx.ValueInfoProto;

/** A map from INT64 to FP32 per row, as scikit-learn's converters give a classifier's probabilities. */
const mapListInfo = (name: string): ValueInfo =>
  onnx.ValueInfoProto.create({
    name,
    type: {
      sequenceType: { elemType: { mapType: { keyType: elementTypes.INT64, valueType: { tensorType: { elemType: elementTypes.FP32 } } } } },
    },
  });

interface GraphOptions {
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly (TensorInfo | ValueInfo)[];
  readonly nodes: readonly Onnx.NodeProto[];
  readonly initializers?: readonly Onnx.TensorProto[];
}

const graph = ({ inputs, outputs, nodes, initializers = [] }: GraphOptions) =>
  onnx.GraphProto.create({
    name: 'graph',
    input: inputs.map(valueInfo),
    output: outputs.map((output) => ('datatype' in output ? valueInfo(output) : output)),
    node: [...nodes],
    initializer: [...initializers],
  });

/** Any model of opset 17, encoded. */
export const onnxModel = (options: GraphOptions): Uint8Array =>
  onnx.ModelProto.encode({
    irVersion: 8,
    producerName: 'weir-tests',
    opsetImport: [
      { domain: '', version: 17 },
      { domain: 'ai.onnx.ml', version: 3 },
    ],
    graph: graph(options),
  }).finish();

/** INPUT0, INPUT1 → OUTPUT0 their sum, OUTPUT1 their difference. Triton's `simple` with the defaults: INT32 [batch,16]. */
export const addSub = ({ datatype = 'INT32', dims = ['batch', 16] }: TensorOptions = {}): Uint8Array =>
  onnxModel({
    inputs: ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype, dims })),
    outputs: ['OUTPUT0', 'OUTPUT1'].map((name) => ({ name, datatype, dims })),
    nodes: [node('Add', ['INPUT0', 'INPUT1'], ['OUTPUT0']), node('Sub', ['INPUT0', 'INPUT1'], ['OUTPUT1'])],
  });

/** INPUT0 → OUTPUT0, unchanged, of any datatype and shape: `dims: []` a scalar, `[1, 3, 4, 4]` a fixed batch. */
export const identity = ({ datatype = 'FP32', dims = ['batch', 'length'] }: TensorOptions = {}): Uint8Array =>
  onnxModel({
    inputs: [{ name: 'INPUT0', datatype, dims }],
    outputs: [{ name: 'OUTPUT0', datatype, dims }],
    nodes: [node('Identity', ['INPUT0'], ['OUTPUT0'])],
  });

/** FP32 [1,3,4,4] → the same: a model that cannot batch. */
export const fixedBatch = (): Uint8Array => identity({ datatype: 'FP32', dims: [1, 3, 4, 4] });

/** INPUT0 FP32 scalar → OUTPUT0 twice as much, scalar. */
export const scalar = (): Uint8Array =>
  onnxModel({
    inputs: [{ name: 'INPUT0', datatype: 'FP32', dims: [] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', dims: [] }],
    nodes: [node('Add', ['INPUT0', 'INPUT0'], ['OUTPUT0'])],
  });

/** INPUT0 FP32 [batch,4] → OUTPUT0 [batch,4]: INPUT0 + 1, …, 4, whose summands lie in `data`, the content of the file `model.onnx.data`. */
export const externalData = (): { readonly onnx: Uint8Array; readonly data: Uint8Array } => {
  const data = new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer);
  const summands = onnx.TensorProto.create({
    name: 'SUMMANDS',
    dataType: elementTypes.FP32,
    dims: [4],
    dataLocation: 1,
    externalData: [
      { key: 'location', value: 'model.onnx.data' },
      { key: 'offset', value: '0' },
      { key: 'length', value: String(data.byteLength) },
    ],
  });
  const encoded = onnxModel({
    inputs: [{ name: 'INPUT0', datatype: 'FP32', dims: ['batch', 4] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', dims: ['batch', 4] }],
    nodes: [node('Add', ['INPUT0', 'SUMMANDS'], ['OUTPUT0'])],
    initializers: [summands],
  });
  return { onnx: encoded, data };
};

const slowSize = 256;

/** Multiplications of two 256×256 matrices that one thread of a common core does in a second, within a factor of three. */
const roundsPerSecond = 3000;

/**
 * INPUT0 FP32 [batch,1] → OUTPUT0 the same, after as many rounds of a 256×256 matrix product as ROUNDS says: an initializer worth about
 * `seconds` (see `roundsPerSecond`), or an INT64 input [1] where `seconds` is undefined.
 */
export const slow = ({ seconds }: { readonly seconds?: number } = {}): Uint8Array => {
  const square = [slowSize, slowSize];
  const rotation = new Float32Array(slowSize * slowSize);
  for (let row = 0; row < slowSize; row++) rotation[row * slowSize + ((row + 1) % slowSize)] = 1;
  const body = graph({
    inputs: [
      { name: 'round', datatype: 'INT64', dims: [] },
      { name: 'goOnIn', datatype: 'BOOL', dims: [] },
      { name: 'matrixIn', datatype: 'FP32', dims: square },
    ],
    outputs: [
      { name: 'goOnOut', datatype: 'BOOL', dims: [] },
      { name: 'matrixOut', datatype: 'FP32', dims: square },
    ],
    nodes: [node('Identity', ['goOnIn'], ['goOnOut']), node('MatMul', ['matrixIn', 'ROTATION'], ['matrixOut'])],
  });
  const rounds =
    seconds === undefined ? [] : [initializer('ROUNDS', 'INT64', [1], new BigInt64Array([BigInt(Math.round(seconds * roundsPerSecond))]))];
  return onnxModel({
    inputs: [
      { name: 'INPUT0', datatype: 'FP32', dims: ['batch', 1] },
      ...(seconds === undefined ? [{ name: 'ROUNDS', datatype: 'INT64' as const, dims: [1] }] : []),
    ],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', dims: ['batch', 1] }],
    nodes: [
      // Every step hangs on INPUT0, or it would be folded into a constant when the model loads.
      node('ReduceSum', ['INPUT0'], ['sum'], { attributes: { keepdims: 0 } }),
      node('Expand', ['sum', 'SQUARE'], ['start']),
      node('Squeeze', ['ROUNDS'], ['count']),
      node('Loop', ['count', 'YES', 'start'], ['end'], { attributes: { body: { graph: body } } }),
      node('ReduceSum', ['end'], ['endSum'], { attributes: { keepdims: 0 } }),
      node('Mul', ['endSum', 'ZERO'], ['nothing']),
      node('Add', ['INPUT0', 'nothing'], ['OUTPUT0']),
    ],
    initializers: [
      ...rounds,
      initializer('SQUARE', 'INT64', [2], new BigInt64Array([BigInt(slowSize), BigInt(slowSize)])),
      initializer('ROTATION', 'FP32', square, rotation),
      initializer('YES', 'BOOL', [], new Uint8Array([1])),
      initializer('ZERO', 'FP32', [], new Float32Array([0])),
    ],
  });
};

/** INPUT0 FP32 [batch,4] → OUTPUT0 those of its rows whose first value is above 0: a model that breaks the promise of a row for a row. */
export const variableRows = (): Uint8Array =>
  onnxModel({
    inputs: [{ name: 'INPUT0', datatype: 'FP32', dims: ['batch', 4] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', dims: ['batch', 4] }],
    nodes: [
      node('Slice', ['INPUT0', 'ZERO', 'ONE', 'ONE'], ['first']),
      node('Squeeze', ['first', 'ONE'], ['flat']),
      node('Greater', ['flat', 'NOTHING'], ['keep']),
      node('Compress', ['INPUT0', 'keep'], ['OUTPUT0'], { attributes: { axis: 0 } }),
    ],
    initializers: [
      initializer('ZERO', 'INT64', [1], new BigInt64Array([0n])),
      initializer('ONE', 'INT64', [1], new BigInt64Array([1n])),
      initializer('NOTHING', 'FP32', [], new Float32Array([0])),
    ],
  });

/** INPUT0 FP32 [batch,4] → OUTPUT0 FP32 [batch,3]: two layers with a ReLU between, of weights that do not change from run to run. */
export const mlp = ({ hidden = 8 }: { readonly hidden?: number } = {}): Uint8Array => {
  const weights = (count: number) => Float32Array.from({ length: count }, (_, index) => ((index * 7) % 11) / 11 - 0.4);
  return onnxModel({
    inputs: [{ name: 'INPUT0', datatype: 'FP32', dims: ['batch', 4] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', dims: ['batch', 3] }],
    nodes: [node('Gemm', ['INPUT0', 'W1', 'B1'], ['h1']), node('Relu', ['h1'], ['h2']), node('Gemm', ['h2', 'W2', 'B2'], ['OUTPUT0'])],
    initializers: [
      initializer('W1', 'FP32', [4, hidden], weights(4 * hidden)),
      initializer('B1', 'FP32', [hidden], weights(hidden)),
      initializer('W2', 'FP32', [hidden, 3], weights(hidden * 3)),
      initializer('B2', 'FP32', [3], weights(3)),
    ],
  });
};

/** INPUT0 FP32 [batch,width] times an identity matrix of `width`² · 4 bytes: 1,600 make a model of 10 MB. */
export const heavy = ({ width = 1600 }: { readonly width?: number } = {}): Uint8Array => {
  const matrix = new Float32Array(width * width);
  for (let row = 0; row < width; row++) matrix[row * width + row] = 1;
  return onnxModel({
    inputs: [{ name: 'INPUT0', datatype: 'FP32', dims: ['batch', width] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', dims: ['batch', width] }],
    nodes: [node('MatMul', ['INPUT0', 'W'], ['OUTPUT0'])],
    initializers: [initializer('W', 'FP32', [width, width], matrix)],
  });
};

/** INPUT0 INT64 [batch,1], rows of a table of ten → OUTPUT0 FP32 [batch,1,2]. An index past 9 fails while the model runs. */
export const gather = (): Uint8Array =>
  onnxModel({
    inputs: [{ name: 'INPUT0', datatype: 'INT64', dims: ['batch', 1] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', dims: ['batch', 1, 2] }],
    nodes: [node('Gather', ['TABLE', 'INPUT0'], ['OUTPUT0'])],
    initializers: [
      initializer(
        'TABLE',
        'FP32',
        [10, 2],
        Float32Array.from({ length: 20 }, (_, index) => index),
      ),
    ],
  });

/** INPUT0 FP32 [batch,3] → OUTPUT0 the same, and PROBABILITIES, which is no tensor but a list of maps. */
export const zipMap = (): Uint8Array =>
  onnxModel({
    inputs: [{ name: 'INPUT0', datatype: 'FP32', dims: ['batch', 3] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', dims: ['batch', 3] }, mapListInfo('PROBABILITIES')],
    nodes: [
      node('Identity', ['INPUT0'], ['OUTPUT0']),
      node('ZipMap', ['INPUT0'], ['PROBABILITIES'], { domain: 'ai.onnx.ml', attributes: { classlabels_int64s: [0, 1, 2] } }),
    ],
  });

export interface ModelFolder {
  readonly onnx: Uint8Array;
  /** The text of `config.pbtxt`; none is written without it. */
  readonly config?: string;
  /** Name of the version folder. Default `1`. */
  readonly version?: string;
  /** Further files, by path inside the version folder. */
  readonly files?: Readonly<Record<string, Uint8Array | string>>;
}

/** Lays out `⟨repository⟩/⟨name⟩/{config.pbtxt, ⟨version⟩/model.onnx}` and returns the model's folder. */
export const writeModel = async (repository: string, name: string, model: ModelFolder): Promise<string> => {
  const directory = join(repository, name);
  const versionDirectory = join(directory, model.version ?? '1');
  await mkdir(versionDirectory, { recursive: true });
  await writeFile(join(versionDirectory, 'model.onnx'), model.onnx);
  if (model.config !== undefined) await writeFile(join(directory, 'config.pbtxt'), model.config);
  for (const [path, content] of Object.entries(model.files ?? {})) await writeFile(join(versionDirectory, path), content);
  return directory;
};
