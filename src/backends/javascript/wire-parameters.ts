import { noParameters, type Parameters, type ParameterValue } from '../../streams/inference/parameters.ts';

/** A parameter as JSON carries it: what JSON has no form for is text, behind what it is. */
export type WireParameter = readonly [name: string, value: string | boolean | number | readonly ['integer' | 'double', string]];

const wireValue = (value: ParameterValue): WireParameter[1] => {
  if (typeof value === 'bigint') return ['integer', value.toString()];
  return typeof value === 'number' && !Number.isFinite(value) ? ['double', value.toString()] : value;
};

export const toWireParameters = (parameters: Iterable<readonly [string, ParameterValue]>): readonly WireParameter[] =>
  Array.from(parameters, ([name, value]) => [name, wireValue(value)]);

const fromWire = (value: WireParameter[1]): ParameterValue => {
  if (typeof value !== 'object') return value;
  const [kind, text] = value;
  return kind === 'integer' ? BigInt(text) : Number(text);
};

export const fromWireParameters = (parameters: readonly WireParameter[]): Parameters =>
  parameters.length === 0 ? noParameters : new Map(parameters.map(([name, value]) => [name, fromWire(value)]));
