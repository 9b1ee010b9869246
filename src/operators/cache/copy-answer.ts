import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { RequestedOutput } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { CachedAnswer } from '../../streams/inference/response-cache.ts';
import { concatInto } from '../../streams/tensors/concat.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';

export type CopyAnswer = (response: InferResponse, requested: readonly RequestedOutput[], roomBytes: number) => CachedAnswer | undefined;

/** Where the elements of any datatype may begin. */
const alignmentBytes = 8;

const alignUp = (at: number): number => Math.ceil(at / alignmentBytes) * alignmentBytes;

/**
 * Puts an answer into memory of its own, without the outputs that were not requested; undefined when that takes more than `roomBytes`, and then nothing was
 * allocated. A request that names every output of the model gets what one gets that names none.
 */
export const copyAnswer = (spec: Pick<ModelSpec, 'outputs'>): CopyAnswer => {
  const outputCount = new Set(spec.outputs.map(({ name }) => name)).size;

  return (response, requested, roomBytes) => {
    const named = requested.length === 0 ? undefined : new Set(requested.map(({ name }) => name));
    const wanted = named !== undefined && named.size < outputCount ? named : undefined;
    let size = 0;
    for (const [name, { start, end }] of response.outputs) if (wanted?.has(name) ?? true) size = alignUp(size) + end - start;
    if (size > roomBytes) return undefined;

    const memory = Buffer.allocUnsafeSlow(size);
    const outputs = new Map<string, Tensor>();
    let at = 0;
    for (const [name, tensor] of response.outputs) {
      if (wanted?.has(name) === false) continue;
      const start = alignUp(at);
      at = concatInto(memory, start, [tensor]);
      outputs.set(name, new Tensor(tensor.datatype, tensor.shape, memory, start, at));
    }
    return { parameters: response.parameters, outputs, memory };
  };
};
