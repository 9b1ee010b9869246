import { Observable } from 'rxjs';
import { machineScheduler, type Scheduler } from '../../streams/flow/clock.ts';
import type { Backend } from '../../streams/inference/backend.ts';
import { expectTensors } from '../../streams/inference/expect-tensors.ts';
import { squareInstance } from './square-instance.ts';
import { squareScript } from './square-script.ts';

export interface SquareConfig {
  readonly scheduler: Scheduler;
}

const tensors = {
  inputs: [{ name: 'IN', datatype: 'INT32', dims: [1] }],
  outputs: [{ name: 'OUT', datatype: 'INT32', dims: [1] }],
} as const;

/**
 * Triton's second example of a decoupled model: answers a request with the number n in IN n times with n, and tells the end apart from the last
 * answer. Its parameters, see `SquareScript`, delay answers and make some of them errors. The instance takes the next batch at once, whatever
 * is still to come. Needs no model file.
 */
export const squareBackend = ({ scheduler }: SquareConfig = { scheduler: machineScheduler }): Backend => ({
  name: 'square',
  needsModelFile: false,
  gathers: false,
  ignoresWholeInputs: true,
  answersMany: true,
  describe: () => Promise.resolve(undefined),
  open: (_files, spec) =>
    new Observable((subscriber) => {
      expectTensors(spec, tensors);
      subscriber.next(squareInstance(squareScript(spec), scheduler));
    }),
});
