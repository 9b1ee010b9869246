import { InferError } from './error.ts';
import type { ModelSpec } from './model-spec.ts';

/** A whole number among the config's parameters; 0 where it has no such one. @throws InferError INVALID_ARGUMENT for what is no whole number, or none below 10^9 */
export const integralParameter = ({ parameters }: Pick<ModelSpec, 'parameters'>, name: string): number => {
  const text = parameters.get(name);
  if (text === undefined) return 0;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InferError('INVALID_ARGUMENT', `failed to convert ${name} '${text}' to integral number`);
};
