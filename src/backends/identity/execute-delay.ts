import { InferError } from '../../streams/inference/error.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';

/** The config parameter `execute_delay_ms`; 0 without it. @throws InferError INVALID_ARGUMENT for what is no whole number of milliseconds */
export const executeDelayMs = ({ parameters }: ModelSpec): number => {
  const text = parameters.get('execute_delay_ms');
  if (text === undefined) return 0;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InferError('INVALID_ARGUMENT', `failed to convert execute_delay_ms '${text}' to integral number`);
};
