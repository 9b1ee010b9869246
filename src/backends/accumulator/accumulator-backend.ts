import { Observable } from 'rxjs';
import { machineScheduler, type Scheduler } from '../../streams/flow/clock.ts';
import type { Backend } from '../../streams/inference/backend.ts';
import { integralParameter } from '../../streams/inference/integral-parameter.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { accumulatorInstance, type Sums } from './accumulator-instance.ts';
import { type AccumulatorControls, checkAccumulator } from './check-accumulator.ts';
import { idSums } from './id-sums.ts';
import { rowSums } from './row-sums.ts';

export interface AccumulatorConfig {
  readonly scheduler: Scheduler;
}

interface Kind {
  readonly name: string;
  readonly controls: AccumulatorControls;
  readonly sums: (spec: ModelSpec) => Sums;
}

const accumulatorBackend = ({ name, controls, sums }: Kind, { scheduler }: AccumulatorConfig): Backend => ({
  name,
  needsModelFile: false,
  gathers: false,
  ignoresWholeInputs: true,
  answersMany: false,
  describe: () => Promise.resolve(undefined),
  open: (_files, spec) =>
    new Observable((subscriber) => {
      checkAccumulator(spec, controls);
      const delayMs = integralParameter(spec, 'execute_delay_ms');
      subscriber.next(accumulatorInstance({ sums: sums(spec), delayMs, scheduler }));
    }),
});

const machine: AccumulatorConfig = { scheduler: machineScheduler };

/**
 * Triton's test models of sequences. Each element of OUTPUT is the sum of all elements of INPUT that the sequence has sent so far, in 32 bits. The
 * config parameter `execute_delay_ms` makes an execution last that long. They need no model file.
 *
 * `sequence` keeps a sum for each row, for the direct strategy, and has the controls START and READY.
 */
export const sequenceBackend = (config = machine): Backend =>
  accumulatorBackend({ name: 'sequence', controls: ['START', 'READY'], sums: rowSums }, config);

/** `dyna_sequence` keeps one for each correlation id, for either strategy, and adds the id to it at END: its controls are START, END, READY and CORRID. */
export const dynaSequenceBackend = (config = machine): Backend =>
  accumulatorBackend({ name: 'dyna_sequence', controls: ['START', 'END', 'READY', 'CORRID'], sums: idSums }, config);
