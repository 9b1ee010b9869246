import { InferError } from '../../streams/inference/error.ts';
import type { RequestedOutput } from '../../streams/inference/request.ts';
import { sharedMemoryNotSupported, usesSharedMemory } from './parse-shared-memory.ts';
import type { WireOutput } from './wire/infer-request.ts';

const invalid = (message: string): InferError => new InferError('INVALID_ARGUMENT', message);

/** Triton counts classes in 32 bits. */
const mostClasses = 2n ** 32n - 1n;

/** Undefined without the parameter. */
const classificationOf = ({ parameters }: WireOutput): number | undefined => {
  const parameter = parameters?.get('classification');
  if (parameter === undefined) return undefined;
  if (parameter.kind !== 'int64_param' || typeof parameter.value !== 'bigint') {
    throw invalid("invalid value type for 'classification' parameter, expected int64_param");
  }
  if (parameter.value < 0n) throw invalid("invalid value for 'classification' parameter, expected >= 0");
  return Number(parameter.value > mostClasses ? mostClasses : parameter.value);
};

const noOutputs: readonly RequestedOutput[] = [];

/**
 * The outputs that a client asks for; one named twice is answered once.
 *
 * @throws InferError with Triton's texts
 */
export const parseOutputs = (wire: readonly WireOutput[]): readonly RequestedOutput[] => {
  if (wire.length === 0) return noOutputs;
  const outputs = new Map<string, RequestedOutput>();
  for (const output of wire) {
    const isShared = usesSharedMemory(output.name, output.parameters);
    const classification = classificationOf(output);
    if (isShared && classification !== undefined) throw invalid("output can't set both 'shared_memory_region' and 'classification'");
    if (isShared) throw sharedMemoryNotSupported(output.name);
    if (!outputs.has(output.name)) outputs.set(output.name, { name: output.name, classification: classification ?? 0 });
  }
  return [...outputs.values()];
};
