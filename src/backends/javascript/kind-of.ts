/** What a value is, for messages: `null`, `number`, `Float32Array`. Of an object its class, of one without class `object`. */
export const kindOf = (value: unknown): string => {
  if (typeof value !== 'object') return typeof value;
  if (value === null) return 'null';
  // Whatever stands there: a model may have made it.
  const { constructor: maker }: { readonly constructor?: unknown } = value;
  return typeof maker === 'function' && maker !== Object && maker.name !== '' ? maker.name : 'object';
};
