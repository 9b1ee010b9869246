import type { Question } from '../load/load.ts';

/** The server under the soak. */
export interface Target {
  readonly httpPort: number;
  readonly grpcPort: number;
}

const identityQuestion = (model: string, floats: number): Question => ({
  model,
  inputs: [{ name: 'INPUT0', shape: [1, floats] }],
  outputs: [{ name: 'OUTPUT0', shape: [1, floats] }],
  isIdentity: true,
});

export const largeFloats = 2 * 2 ** 20;
export const largeBytes = 4 * largeFloats;

/** Models of the soak and what is asked of them. `slow` takes its time, so that there is something to cancel. */
export const questions = {
  small: identityQuestion('small', 16),
  slow: identityQuestion('slow', 16),
  large: identityQuestion('large', largeFloats),
};

export const slowMs = 20;
