/**
 * Why JSON values and a tensor do not fit together. For `wrong-type` the message is Triton's phrase, as in
 * `attempt to access JSON non-boolean as boolean`; for the others it is ours, and a front end words its own around the kind.
 */
export type JsonValueProblem = 'wrong-type' | 'too-few' | 'too-many' | 'too-deep' | 'unsupported-datatype' | 'invalid-utf8';

export class JsonValueError extends Error {
  override readonly name = 'JsonValueError';
  readonly problem: JsonValueProblem;

  constructor(problem: JsonValueProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

export const wrongJsonType = (wanted: string): JsonValueError =>
  new JsonValueError('wrong-type', `attempt to access JSON non-${wanted} as ${wanted === 'number' ? 'double' : wanted}`);
