import type { ParameterValue } from '../../streams/inference/parameters.ts';
import { kindOf } from './kind-of.ts';
import { ModelError } from './model-module.ts';

/** Parameters as a model gives them. */
export type GivenParameters = Readonly<Record<string, ParameterValue>> | ReadonlyMap<string, ParameterValue>;

const lowest = -(2n ** 63n);
const highest = 2n ** 64n - 1n;

const isValue = (value: unknown): value is ParameterValue =>
  typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint';

const checkedValue = (name: string, value: unknown): ParameterValue => {
  if (!isValue(value)) throw new ModelError(`parameter '${name}': expected a string, boolean, number or bigint, got ${kindOf(value)}`);
  if (typeof value !== 'bigint' || (value >= lowest && value <= highest)) return value;
  throw new ModelError(`parameter '${name}': ${value} has more than 64 bits`);
};

/** @throws ModelError INTERNAL for what is no parameter */
export const givenParameters = (given: GivenParameters | undefined): readonly (readonly [string, ParameterValue])[] => {
  if (given === undefined || given === null) return [];
  if (typeof given !== 'object') throw new ModelError(`expected parameters to be an object or a Map, got ${kindOf(given)}`);
  const entries = given instanceof Map ? [...given] : Object.entries(given);
  return entries.map(([name, value]) => [String(name), checkedValue(String(name), value)]);
};
