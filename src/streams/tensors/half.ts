const floats = new Float32Array(1);
const words = new Uint32Array(floats.buffer);

/** The float32 that a BF16 stands for; exact. */
export const bf16ToNumber = (bits: number): number => {
  words[0] = bits << 16;
  return floats[0] ?? 0;
};

/** The nearest BF16, ties to even, as bits; NaN stays NaN. Rounds from float32, as hardware does. */
export const numberToBf16 = (value: number): number => {
  floats[0] = value;
  const word = words[0] ?? 0;
  if (Number.isNaN(value)) return (word >>> 16) | 0x40;
  const roundToEven = 0x7fff + ((word >>> 16) & 1);
  return ((word + roundToEven) >>> 16) & 0xffff;
};

/** The number that an FP16 stands for; exact. */
export const fp16ToNumber = (bits: number): number => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (0x400 + fraction) * 2 ** (exponent - 25);
};

/** The nearest FP16, ties to even, as bits; too large becomes infinite, NaN stays NaN. */
export const numberToFp16 = (value: number): number => {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  // 65520 lies halfway between the largest FP16 and the next power of two, and a tie rounds up to that.
  if (size >= 65520) return sign | 0x7c00;
  // Steps between neighbours: 2^-24 below 2^-14, the smallest normal one, and 2^-10 of the power of two elsewhere.
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  const normal = size < 2 ** exponent ? exponent - 1 : exponent;
  const step = Math.max(-14, normal) - 10;
  const steps = roundHalfToEven(size * 2 ** -step);
  // Carrying into the exponent is what the sum does by itself.
  return sign | (((step + 24) << 10) + steps);
};

const roundHalfToEven = (value: number): number => {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
};
