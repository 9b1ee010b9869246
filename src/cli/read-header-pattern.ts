import { UsageError } from './usage-error.ts';

/** A pattern for whole header names, checked. @throws UsageError */
export const readHeaderPattern = (value: string): string => {
  try {
    new RegExp(`^(?:${value})$`);
  } catch {
    throw new UsageError(`invalid regular expression. Got ${value}`);
  }
  return value;
};
