import type { Parameters, ParameterValue } from '../../streams/inference/parameters.ts';

/** A parameter as JSON carries it: what JSON has no form for is text, behind what it is. */
export type WireParameter = readonly [name: string, value: string | boolean | number | readonly ['integer' | 'double', string]];

const wireValue = (value: ParameterValue): WireParameter[1] => {
  if (typeof value === 'bigint') return ['integer', value.toString()];
  return typeof value === 'number' && !Number.isFinite(value) ? ['double', value.toString()] : value;
};

export const toWireParameters = (parameters: Iterable<readonly [string, ParameterValue]>): readonly WireParameter[] =>
  Array.from(parameters, ([name, value]) => [name, wireValue(value)]);

export const fromWireParameters = (parameters: readonly WireParameter[]): Parameters =>
  new Map(
    parameters.map(([name, value]) => {
      if (typeof value !== 'object') return [name, value];
      const [kind, text] = value;
      return [name, kind === 'integer' ? BigInt(text) : Number(text)];
    }),
  );
