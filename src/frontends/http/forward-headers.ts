import { InferError } from '../../streams/inference/error.ts';
import { isReservedParameter } from '../../streams/inference/json/read-parameters.ts';
import type { ParameterValue } from '../../streams/inference/parameters.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { HeaderPattern } from './header-pattern.ts';

/**
 * Adds the headers that match as string parameters, under the names with which they were received. `rawHeaders` has names and values in turn.
 *
 * @throws InferError INVALID_ARGUMENT for a matching header with a reserved name
 */
export const forwardHeaders = (request: InferRequest, rawHeaders: readonly string[], isForwarded: HeaderPattern): InferRequest => {
  let parameters: Map<string, ParameterValue> | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!isForwarded(name)) continue;
    if (isReservedParameter(name)) {
      throw new InferError('INVALID_ARGUMENT', `Header '${name}' is reserved for Triton usage and cannot be forwarded.`);
    }
    parameters ??= new Map(request.parameters);
    parameters.set(name, rawHeaders[index + 1] ?? '');
  }
  return parameters === undefined ? request : { ...request, parameters };
};
