import { InferError } from '../../streams/inference/error.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import { splitRows } from '../../streams/tensors/split.ts';
import { Tensor, type Tensors } from '../../streams/tensors/tensor.ts';
import { scatterOutput } from './scatter-output.ts';
import type { SlotMemory } from './slot-memory.ts';
import type { ModelPorts } from './worker-protocol.ts';

/** Whom the outputs of a batch are for. */
export interface ReadBatch {
  readonly requests: readonly InferRequest[];
  /** Of each request. */
  readonly rows: readonly number[];
  readonly totalRows: number;
}

/**
 * The outputs of each request of a batch as views of the slot's memory: valid until the worker gets the slot again.
 *
 * @param areas the slot's output memories
 * @throws InferError UNIMPLEMENTED when an output has not a row for each row of the batch, or not the elements of its requests' shapes
 */
export const readOutputs = (
  { requests, rows, totalRows }: ReadBatch,
  { outputs, batches }: ModelPorts,
  slot: SlotMemory,
  areas: readonly Uint8Array[],
): readonly Tensors[] => {
  const answers = rows.map(() => new Map<string, Tensor>());
  for (let index = 0; index < outputs.length; index++) {
    const port = outputs[index];
    const { area, start, byteLength, dims } = slot.output(index);
    const buffer = areas[area];
    if (port === undefined || buffer === undefined) break;
    const { name, datatype, shape, source } = port;
    const whole = new Tensor(datatype, dims, buffer, start, start + byteLength);
    let pieces: readonly Tensor[];
    if (source !== undefined) {
      pieces = scatterOutput(name, whole, shape, source, requests);
    } else {
      if (batches && dims[0] !== totalRows) throw unlikeRows(name, totalRows, dims);
      pieces = batches ? splitRows(whole, rows) : [whole];
    }
    for (const [request, piece] of pieces.entries()) answers[request]?.set(name, piece);
  }
  return answers;
};

const unlikeRows = (name: string, rows: number, dims: readonly number[]): InferError => {
  const got = dims.length === 0 ? 'a scalar' : `${dims[0]}`;
  const wanted = (dims[0] ?? 0) < rows ? `at least ${rows}` : `${rows}`;
  const message = `failed to split the output tensor '${name}' in responses: expected batch size of ${wanted} in model output, got ${got}`;
  return new InferError('UNIMPLEMENTED', message, { reason: 'BACKEND' });
};
