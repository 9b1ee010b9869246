import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { Parameters, ParameterValue } from '../../streams/inference/parameters.ts';
import type { InferRequest, RequestedOutput } from '../../streams/inference/request.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { RequestKey } from './request-key.ts';

/** Hashing so much, and comparing it, keeps the event loop for 3 ms: as long as other requests should have to wait for one. */
export const largestKeyBytes = 4 * 1024 * 1024;

export interface CacheKeysConfig {
  readonly spec: Pick<ModelSpec, 'name' | 'version' | 'inputs' | 'outputs'>;
  /** Differs where what was loaded differs. */
  readonly contentId: string;
}

/**
 * Makes the key of a request; undefined for one with more than `largestKeyBytes` of inputs and parameters, which is not cached. Id, priority, time-out and
 * sequence are no part of it. Inputs and parameters count in any order, and so do requested outputs, of which the first mention of a name counts;
 * to request none is to request all. Headers that are forwarded to the model are parameters.
 */
export const cacheKeys = ({ spec, contentId }: CacheKeysConfig): ((request: InferRequest) => RequestKey | undefined) => {
  const model = JSON.stringify([spec.name, spec.version, contentId]);
  const inputs = spec.inputs.map(({ name }) => ({ name, label: JSON.stringify(name) }));
  const outputCount = new Set(spec.outputs.map(({ name }) => name)).size;

  return (request) => {
    let head = model;
    let inputBytes = 0;
    const tensors: Tensor[] = [];
    for (const { name, label } of inputs) {
      const tensor = request.inputs.get(name);
      if (tensor === undefined) continue;
      const byteLength = tensor.end - tensor.start;
      tensors.push(tensor);
      inputBytes += byteLength;
      head += `${label}${tensor.datatype}[${tensor.shape.join()}]${byteLength}`;
    }
    if (request.outputs.length > 0) head += outputsText(request.outputs, outputCount);
    if (request.parameters.size > 0) head += parametersText(request.parameters);
    return inputBytes + head.length > largestKeyBytes ? undefined : new RequestKey(head, tensors, inputBytes);
  };
};

/** JSON everywhere, since names and values may contain anything, halves of surrogate pairs included. */
const outputsText = (outputs: readonly RequestedOutput[], outputCount: number): string => {
  const classes = new Map<string, number>();
  for (const { name, classification } of outputs) if (!classes.has(name)) classes.set(name, classification);
  const isAll = classes.size === outputCount && classes.values().every((count) => count === 0);
  return isAll ? '' : `outputs${JSON.stringify([...classes].toSorted(byName))}`;
};

const parametersText = (parameters: Parameters): string =>
  `parameters${JSON.stringify([...parameters].toSorted(byName).map(([name, value]) => [name, typeof value, valueText(value)]))}`;

/** Exact, so that negative zero is another value than zero. */
const valueText = (value: ParameterValue): string => (Object.is(value, -0) ? '-0' : String(value));

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);
