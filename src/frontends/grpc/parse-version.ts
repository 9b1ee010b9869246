import { InferError } from '../../streams/inference/error.ts';

const plain = /^[1-9]\d{0,17}$/;
/** What C's `strtol` takes: blanks, a sign and digits, whatever follows. */
const leadingNumber = /^[ \t\n\v\f\r]*([+-]?\d+)/;

const largest = 2n ** 63n - 1n;

/**
 * A version as clients write it, in decimal digits without leading zeros; `''` for none. Triton reads it with `std::stol`, so that `1abc` is 1.
 *
 * @throws InferError INVALID_ARGUMENT
 */
export const parseVersion = (text: string): string => {
  if (text === '' || plain.test(text)) return text;
  const digits = leadingNumber.exec(text)?.[1];
  const value = digits === undefined ? undefined : BigInt(digits.startsWith('+') ? digits.slice(1) : digits);
  if (value === undefined || value > largest || value < -largest - 1n) {
    throw new InferError(
      'INVALID_ARGUMENT',
      `failed to get model version from specified version string '${text}' (details: stol), version should be an integral value > 0`,
    );
  }
  if (value < 0n) {
    throw new InferError('INVALID_ARGUMENT', `invalid model version specified '${text}' , version should be an integral value > 0`);
  }
  return value.toString();
};
