import { concat, NEVER, Observable, of } from 'rxjs';
import type { Backend, Instance } from '../../src/streams/inference/backend.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';
import { StepModel } from './step-model.ts';

const stepInstance = (): Instance => {
  const model = new StepModel();
  return {
    capacity: 1,
    run: ({ requests, times }) =>
      new Observable((parts) => {
        times.inputEndMs = performance.now();
        times.outputStartMs = times.inputEndMs;
        for (const [row, { inputs }] of requests.entries()) {
          parts.next({ of: row, outputs: model.run(row, inputs), parameters: noParameters, isLast: true, error: undefined });
        }
        parts.complete();
      }),
  };
};

/** Runs `StepModel` in place. */
export const stepBackend: Backend = {
  name: 'steps',
  needsModelFile: false,
  gathers: false,
  answersMany: false,
  describe: () => Promise.resolve(undefined),
  open: () => concat(of(stepInstance()), NEVER),
};
