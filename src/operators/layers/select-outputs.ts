import { map } from 'rxjs';
import type { Layer } from '../../streams/inference/infer.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { RequestedOutput } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';

/**
 * Leaves only the requested outputs in the answers, in the order in which the model made them; one named twice is answered once. Requests that name no
 * output, or all of them, pass untouched. Unknown names are refused by `validateRequest`.
 */
export const selectOutputs = (spec: ModelSpec): Layer => {
  const all = [...new Set(spec.outputs.map((output) => output.name))];
  return (next) => (request) => {
    const { outputs } = request;
    if (outputs.length === 0 || namesAll(outputs, all)) return next(request);
    const wanted = new Set(outputs.map((output) => output.name));
    return next(request).pipe(map((response) => only(wanted, response)));
  };
};

/** Clients that name every output tend to do it in the model's order; another order only costs a closer look. */
const namesAll = (outputs: readonly RequestedOutput[], all: readonly string[]): boolean => {
  for (let index = 0; index < all.length; index++) if (outputs[index]?.name !== all[index]) return false;
  return true;
};

const only = (wanted: ReadonlySet<string>, response: InferResponse): InferResponse => {
  const outputs = new Map<string, Tensor>();
  for (const [name, tensor] of response.outputs) if (wanted.has(name)) outputs.set(name, tensor);
  return outputs.size === response.outputs.size ? response : { ...response, outputs };
};
