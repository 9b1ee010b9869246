/**
 * A value as C++'s `std::to_string` prints it: integers plainly, floating point in full with six decimals, of two equally near ones the even,
 * and `inf`, `-inf`, `nan`.
 */
export const formatClassValue = (value: number | bigint, kind: 'integer' | 'float'): string => {
  if (typeof value === 'bigint' || kind === 'integer') return String(value);
  if (Number.isNaN(value)) return 'nan';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return `${sign}inf`;
  // From here on toFixed answers with an exponent, but every such double is an integer.
  if (size >= 1e21) return `${sign}${BigInt(size)}.000000`;
  return sign + (liesBetweenDecimals(size) ? halfToEven(size) : size.toFixed(6));
};

/** A double has a tie at the seventh decimal only when it is an odd number of 128ths; toFixed rounds those up. */
const liesBetweenDecimals = (size: number): boolean => (size * 128) % 2 === 1;

const halfToEven = (size: number): string => {
  // Millionths, twice: exact for any odd number of 128ths.
  const doubled = BigInt(size * 128) * 15625n;
  const below = doubled / 2n;
  const digits = String(below % 2n === 0n ? below : below + 1n).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
};
