import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { requestPrefix } from '../../streams/inference/error.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { isCountable, type Shape } from '../../streams/tensors/shape.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';
import { datatypeOf } from './datatypes.ts';
import type { Finding } from './findings.ts';
import { fault } from './findings.ts';
import { isInside } from './is-inside.ts';
import type { ConfigWarmup, ConfigWarmupInput, ModelConfig } from './model-config.ts';
import { unreadableFile } from './read-text.ts';
import { randomValues, zeros, zerosByteLength } from './warmup-values.ts';

/** A sample whose inputs are there, and have not been held against the model yet. */
export interface ReadWarmup {
  readonly name: string;
  readonly count: number;
  /** Requests of one row, all with the same tensors. */
  readonly requests: number;
  /** As clients would send them: before any reshape, with the batch dimension where the model batches. */
  readonly inputs: Tensors;
  /** Of its config. */
  readonly field: string;
}

export interface ReadWarmups {
  readonly samples: readonly ReadWarmup[];
  readonly findings: readonly Finding[];
}

/** What one message carries; more is no input of a request. */
const largestBytes = 2 ** 31 - 1;

interface Reading {
  readonly bytes?: Uint8Array;
  readonly findings: readonly Finding[];
}

const readData = async (directory: string, file: string, datatype: Datatype, shape: Shape, field: string): Promise<Reading> => {
  const refused = (text: string): Reading => ({ findings: [fault(field, text)] });
  const path = resolve(directory, file);
  if (!isInside(directory, path)) return refused(`warmup data path '${path}' is outside '${directory}'`);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    return { findings: [unreadableFile(field, path, error)] };
  }
  // Strings have the size that they have: how many they are shows when the request is checked.
  if (datatype === 'BYTES') return { bytes, findings: [] };
  const wanted = zerosByteLength(datatype, shape);
  if (bytes.byteLength >= wanted) return { bytes: bytes.subarray(0, wanted), findings: [] };
  // The missing blank is Triton's.
  const text = `warmup setting expects ${wanted} bytes, but the data provided from ${file}only has ${bytes.byteLength} bytes`;
  return refused(`${requestPrefix('')}${text}`);
};

const readBytes = async (
  input: ConfigWarmupInput,
  datatype: Datatype,
  shape: Shape,
  name: string,
  field: string,
  directory: string,
): Promise<Reading> => {
  // What the two say counts for nothing, as in Triton.
  if (input.zero_data !== undefined) return { bytes: zeros(datatype, shape), findings: [] };
  if (input.random_data !== undefined) return { bytes: randomValues(datatype, shape), findings: [] };
  if (input.input_data_file !== undefined) return readData(directory, input.input_data_file, datatype, shape, `${field}.input_data_file`);
  return { findings: [fault(field, `${requestPrefix('')}warmup setting expects input '${name}' to have input_data_type set`)] };
};

interface ReadInput {
  readonly name: string;
  readonly tensor?: Tensor;
  readonly findings: readonly Finding[];
}

const readInput = async (name: string, input: ConfigWarmupInput, field: string, batch: Shape, directory: string): Promise<ReadInput> => {
  const datatype = datatypeOf(input.data_type);
  const dims = input.dims.map(Number);
  if (datatype === undefined) {
    const text = `warmup setting expects input '${name}' to have data_type set`;
    return { name, findings: [fault(`${field}.data_type`, text, { wanted: 'a TYPE_… of the configuration' })] };
  }
  if (dims.some((size) => size < 0)) {
    const text = `warmup setting expects all variable-size dimensions are specified for input '${name}'`;
    return { name, findings: [fault(`${field}.dims`, text, { wanted: 'sizes', got: `[${dims.join(',')}]` })] };
  }
  if (!isCountable(dims, 8) || zerosByteLength(datatype, dims) > largestBytes) {
    const text = `warmup input '${name}' is too large`;
    return { name, findings: [fault(`${field}.dims`, text, { wanted: `at most ${largestBytes} bytes` })] };
  }
  const { bytes, findings } = await readBytes(input, datatype, dims, name, field, directory);
  return { name, findings, ...(bytes === undefined ? {} : { tensor: new Tensor(datatype, [...batch, ...dims], bytes) }) };
};

interface ReadSample {
  readonly sample?: ReadWarmup;
  readonly findings: readonly Finding[];
}

const readSample = async (config: ModelConfig, warmup: ConfigWarmup, index: number, directory: string): Promise<ReadSample> => {
  const field = `model_warmup[${index}]`;
  const { name, batch_size: size } = warmup;
  const limit = Math.max(1, config.max_batch_size);
  if (size === 0) return { findings: [] };
  if (size > limit) {
    const text = `failed to run warmup sample '${name}': batch size ${size} for '${config.name}', max allowed is ${limit}`;
    return { findings: [fault(`${field}.batch_size`, text, { wanted: `0 to ${limit}`, got: String(size) })] };
  }
  const batch = config.max_batch_size > 0 ? [1] : [];
  const inputs = await Promise.all(
    Object.entries(warmup.inputs).map(([key, input]) => readInput(key, input, `${field}.inputs["${key}"]`, batch, directory)),
  );
  const findings = inputs.flatMap((input) => input.findings);
  if (findings.length > 0) return { findings };
  const tensors = new Map(inputs.flatMap((input) => (input.tensor === undefined ? [] : [[input.name, input.tensor] as const])));
  return { sample: { name, count: Math.max(1, warmup.count), requests: size, inputs: tensors, field }, findings: [] };
};

/** Reads `model_warmup`: zeros, random values, or files of the folder `warmup` of the model. A sample of `batch_size` 0 is none. */
export const readWarmups = async (config: ModelConfig, modelDirectory: string): Promise<ReadWarmups> => {
  const directory = resolve(modelDirectory, 'warmup');
  const all = await Promise.all(config.model_warmup.map((warmup, index) => readSample(config, warmup, index, directory)));
  return {
    samples: all.flatMap(({ sample }) => (sample === undefined ? [] : [sample])),
    findings: all.flatMap(({ findings }) => findings),
  };
};
