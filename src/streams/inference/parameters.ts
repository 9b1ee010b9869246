/** 64-bit integers are bigint, doubles are number: so each keeps its kind on the way through. */
export type ParameterValue = string | boolean | bigint | number;

export type Parameters = ReadonlyMap<string, ParameterValue>;

export const noParameters: Parameters = new Map();
