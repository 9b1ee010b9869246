/** One place where two answers are not the same. */
export interface Difference {
  /** `body.error`, `message.outputs[0].shape`. */
  readonly path: string;
  readonly triton: unknown;
  readonly weir: unknown;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const kind = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** Every difference in keys, types and values; where `varies` matches a path, types alone. */
export const differences = (triton: unknown, weir: unknown, varies: RegExp | undefined, path = ''): readonly Difference[] => {
  if (Array.isArray(triton) && Array.isArray(weir)) {
    const longest = Math.max(triton.length, weir.length);
    return Array.from({ length: longest }, (_, index) => differences(triton[index], weir[index], varies, `${path}[${index}]`)).flat();
  }
  if (isRecord(triton) && isRecord(weir)) {
    const keys = new Set([...Object.keys(triton), ...Object.keys(weir)]);
    return [...keys].flatMap((key) => differences(triton[key], weir[key], varies, path === '' ? key : `${path}.${key}`));
  }
  if (varies?.test(path) ? kind(triton) === kind(weir) : Object.is(triton, weir)) return [];
  return [{ path, triton, weir }];
};
