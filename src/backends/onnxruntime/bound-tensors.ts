import type { InferenceSession, Tensor as OrtTensor, TensorConstructor } from 'onnxruntime-node';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount } from '../../streams/tensors/shape.ts';
import { datatypeOf } from './ort-datatypes.ts';
import { ortTensor } from './ort-tensor.ts';
import { alignUp, outputAreas, type TensorPlace } from './slot-memory.ts';
import type { ModelPorts } from './worker-protocol.ts';

/** Where the outputs go that the model can write in place: by number of the output, undefined for what has to be copied. */
export interface OutputPlaces {
  readonly inPlace: readonly (TensorPlace | undefined)[];
  readonly sizeBytes: number;
}

/** ONNX Runtime's tensors over a slot's memory for one set of shapes: made once, used for every batch of these shapes. */
export interface BoundTensors extends OutputPlaces {
  /** Strings are missing: they are read for each batch. */
  readonly feeds: Record<string, OrtTensor>;
  /** Null for what ONNX Runtime is to make itself. */
  readonly fetches: Readonly<Record<string, OrtTensor | null>>;
}

/**
 * The shape that each output of the model will have for a batch, −1 for its rows; undefined where the file does not tell, the elements
 * are strings, or its first dimension counts no rows. A shape of no dimensions does not tell either: ONNX Runtime reports it for outputs of unknown rank too.
 */
export const knownOutputShapes = (
  session: InferenceSession,
  { outputs, batches }: ModelPorts,
): readonly (readonly number[] | undefined)[] =>
  outputs.map(({ name, source }) => {
    const metadata = session.outputMetadata.find((output) => output.name === name);
    if (metadata?.isTensor !== true || datatypeOf(metadata.type) === 'BYTES' || source !== undefined) return undefined;
    const shape = metadata.shape.map((size, axis) => (typeof size === 'number' ? size : batches && axis === 0 ? -1 : undefined));
    const isKnown = (size: number | undefined): size is number => size !== undefined && size !== 0;
    return shape.length > 0 && shape.every(isKnown) ? shape : undefined;
  });

export const placeOutputs = ({ outputs }: ModelPorts, shapes: readonly (readonly number[] | undefined)[], rows: number): OutputPlaces => {
  let sizeBytes = 0;
  const inPlace = outputs.map(({ datatype }, index) => {
    const dims = shapes[index]?.map((size) => (size === -1 ? rows : size));
    if (dims === undefined || rows === 0) return undefined;
    const start = alignUp(sizeBytes);
    const byteLength = elementCount(dims) * elementByteSize(datatype);
    sizeBytes = start + byteLength;
    return { area: outputAreas.inPlace, start, byteLength, dims };
  });
  return { inPlace, sizeBytes };
};

export const bindTensors = (
  Tensor: TensorConstructor,
  { inputs, outputs }: ModelPorts,
  given: readonly TensorPlace[],
  inputMemory: Buffer<SharedArrayBuffer>,
  places: OutputPlaces,
  outputMemory: Buffer<SharedArrayBuffer>,
): BoundTensors => {
  const feeds: Record<string, OrtTensor> = {};
  for (const [index, place] of given.entries()) {
    const port = inputs[index];
    if (port !== undefined && port.datatype !== 'BYTES') feeds[port.name] = ortTensor(Tensor, port.datatype, inputMemory, place);
  }
  const fetches: Record<string, OrtTensor | null> = {};
  for (const [index, { name, datatype }] of outputs.entries()) {
    const place = places.inPlace[index];
    fetches[name] = place === undefined ? null : ortTensor(Tensor, datatype, outputMemory, place);
  }
  return { ...places, feeds, fetches };
};
