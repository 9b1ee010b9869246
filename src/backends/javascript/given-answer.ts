import { kindOf } from './kind-of.ts';
import type { ModelAnswer } from './model-answer.ts';
import { ModelError } from './model-module.ts';

const members: ReadonlySet<string> = new Set(['outputs', 'parameters', 'reschedule', 'request', 'isLast', 'error']);

/** An answer without outputs that is meant as something else. It would reach the client as an empty answer, and nobody would know why. */
const oddity = (answer: object): ModelError | undefined => {
  if (Array.isArray(answer)) return new ModelError('expected an object as response, got Array');
  if ('then' in answer) {
    // What it rejects with is nobody's to handle.
    Promise.resolve(answer).catch(() => {});
    return new ModelError('expected an object as response, got a promise: await it, or use perRequest');
  }
  const odd = Object.keys(answer).find((name) => !members.has(name));
  return odd === undefined
    ? undefined
    : new ModelError(`a response has '${odd}' and no outputs: expected { outputs: { NAME: { shape, data } } }`);
};

/** What was given in the place of an answer is an error, or is no answer: then that is the error. Undefined for an answer. */
export const faultOf = (answer: ModelAnswer | Error): unknown => {
  if (typeof answer !== 'object' || answer === null) return new ModelError(`expected an object as response, got ${kindOf(answer)}`);
  if (answer instanceof Error) return answer;
  const { error, outputs } = answer;
  if (error !== undefined && error !== null) return error;
  if (outputs === undefined || outputs === null) return oddity(answer);
  if (typeof outputs === 'object' && !Array.isArray(outputs) && !(outputs instanceof Map)) return undefined;
  return new ModelError(`expected an object as outputs, got ${kindOf(outputs)}`);
};
