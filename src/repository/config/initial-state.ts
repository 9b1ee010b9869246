import { readFile } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { BytesLayoutError, countBytesElements, lengthPrefixBytes, skipBytesElements } from '../../streams/tensors/bytes-elements.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { elementCount, type Shape } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { datatypeOf } from './datatypes.ts';
import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ConfigState, ModelConfig } from './model-config.ts';
import { unreadableFile } from './read-text.ts';

export interface InitialStates {
  /** By `state` of the config. Of one with a fault it has the shape, and zeros. */
  readonly initials: readonly Tensor[];
  readonly findings: readonly Finding[];
}

/** What one message carries, in any layer below. */
const longestState = 2 ** 31 - 1;

/** A state without datatype is one that no model takes: its bytes matter to nobody. */
const datatypeIn = ({ data_type }: ConfigState): Datatype => datatypeOf(data_type) ?? 'UINT8';

const shapeIn = ({ dims, initial_state: [initial] }: ConfigState, maxBatchSize: number): Shape => {
  const own = initial === undefined || initial.dims.length === 0 ? dims : initial.dims;
  const sizes = own.map((size) => (size < 0 ? 1 : Number(size)));
  return maxBatchSize > 0 ? [1, ...sizes] : sizes;
};

/** The zero of a string is the empty one, which is its length alone. */
const elementSize = (datatype: Datatype): number => (datatype === 'BYTES' ? lengthPrefixBytes : elementByteSize(datatype));

interface InitialState {
  readonly initial: Tensor;
  readonly findings: readonly Finding[];
}

const isInside = (directory: string, path: string): boolean => {
  const way = relative(directory, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
};

/** Where the elements of a tensor like `zeros` end in `bytes`; undefined where there are too few. */
const endOfElements = (zeros: Tensor, bytes: Uint8Array): number | undefined => {
  if (zeros.datatype !== 'BYTES') return bytes.byteLength < zeros.byteLength ? undefined : zeros.byteLength;
  const count = elementCount(zeros.shape);
  const found = countBytesElements(bytes, 0, bytes.byteLength, count);
  return found >= 0 && found < count ? undefined : skipBytesElements(bytes, 0, bytes.byteLength, count);
};

const tooShort = (file: string, zeros: Tensor, bytes: Uint8Array): string =>
  `initial_state setting expects ${zeros.byteLength} bytes, but the data provided from ${file}only has ${bytes.byteLength} bytes.`;

const readData = async (directory: string, file: string, zeros: Tensor, field: string): Promise<InitialState> => {
  const refused = (text: string): InitialState => ({ initial: zeros, findings: [fault(field, text)] });
  const path = resolve(directory, file);
  if (!isInside(directory, path)) return refused(`initial state path '${path}' is outside '${directory}'`);
  try {
    const bytes = await readFile(path);
    const end = endOfElements(zeros, bytes);
    if (end === undefined) return refused(tooShort(file, zeros, bytes));
    const initial = new Tensor(zeros.datatype, zeros.shape, bytes, 0, end);
    const rest = bytes.byteLength - end;
    return { initial, findings: rest === 0 ? [] : [warning(field, `the last ${rest} bytes of '${path}' are not used`)] };
  } catch (error) {
    if (error instanceof BytesLayoutError) return refused(`no strings in '${path}': ${error.message}`);
    return { initial: zeros, findings: [unreadableFile(field, path, error)] };
  }
};

const readState = async (config: ModelConfig, state: ConfigState, index: number, directory: string): Promise<InitialState> => {
  const field = `sequence_batching.state[${index}]`;
  const shape = shapeIn(state, config.max_batch_size);
  const datatype = datatypeIn(state);
  const sizeBytes = elementCount(shape) * elementSize(datatype);
  if (sizeBytes > longestState) {
    const text = `initial state of state '${state.input_name}' for model '${config.name}' is too large`;
    const finding = fault(`${field}.dims`, text, { wanted: `at most ${longestState} bytes`, got: `${sizeBytes} bytes` });
    return { initial: new Tensor(datatype, [0], new Uint8Array(0)), findings: [finding] };
  }
  const zeros = new Tensor(datatype, shape, new Uint8Array(sizeBytes));
  const [initial] = state.initial_state;
  if (initial === undefined || initial.zero_data !== undefined) return { initial: zeros, findings: [] };
  if (initial.data_file !== undefined) {
    return readData(directory, initial.data_file, zeros, `${field}.initial_state[0].data_file`);
  }
  const text = `initial_state setting expects state'${state.input_name}' to have state_data set`;
  return { initial: zeros, findings: [fault(`${field}.initial_state[0]`, text, { wanted: 'zero_data or data_file', got: 'neither' })] };
};

/**
 * Reads what sequences begin with: zeros, or a file of the folder `initial_state` of the model, in the layout of the wire. The shape is that
 * of `initial_state`, else that of the state with 1 for −1, and has a batch dimension of 1 where the model batches.
 *
 * Strings in a file count; Triton overwrites them with empty ones.
 */
export const readInitialStates = async (config: ModelConfig, modelDirectory: string): Promise<InitialStates> => {
  const directory = resolve(modelDirectory, 'initial_state');
  const states = config.sequence_batching?.state ?? [];
  const all = await Promise.all(states.map((state, index) => readState(config, state, index, directory)));
  return { initials: all.map(({ initial }) => initial), findings: all.flatMap(({ findings }) => findings) };
};
