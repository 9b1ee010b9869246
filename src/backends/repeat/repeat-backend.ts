import { Observable } from 'rxjs';
import { machineScheduler, type Scheduler } from '../../streams/flow/clock.ts';
import type { Backend } from '../../streams/inference/backend.ts';
import { checkRepeat } from './check-repeat.ts';
import { repeatInstance } from './repeat-instance.ts';

export interface RepeatConfig {
  readonly scheduler: Scheduler;
}

/**
 * Triton's example of a decoupled model: answers a request once for each element of IN, after the milliseconds in DELAY, with that element as OUT and
 * its index as IDX; the end is told apart from the last answer. The instance takes the next request WAIT milliseconds after this one, whatever
 * is still to come. Needs no model file.
 */
export const repeatBackend = ({ scheduler }: RepeatConfig = { scheduler: machineScheduler }): Backend => ({
  name: 'repeat',
  needsModelFile: false,
  gathers: false,
  ignoresWholeInputs: true,
  answersMany: true,
  describe: () => Promise.resolve(undefined),
  open: (_files, spec) =>
    new Observable((subscriber) => {
      checkRepeat(spec);
      subscriber.next(repeatInstance(scheduler));
    }),
});
