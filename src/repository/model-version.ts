import { InferError } from '../streams/inference/error.ts';

const highestVersion = 2n ** 63n - 1n;

/**
 * A version as a client writes it, in the digits that the repository knows it by; `''` stays `''`.
 *
 * @throws InferError INVALID_ARGUMENT for what is no version; its text names the function that fails in Triton
 */
export const canonicalVersion = (version: string): string => {
  if (version === '') return '';
  if (/^-\d+$/.test(version)) {
    throw new InferError('INVALID_ARGUMENT', `invalid model version specified '${version}' , version should be an integral value > 0`);
  }
  if (!/^\d+$/.test(version) || BigInt(version) > highestVersion) {
    const text = `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`;
    throw new InferError('INVALID_ARGUMENT', text);
  }
  return BigInt(version).toString();
};
