import { Observable } from 'rxjs';
import { machineScheduler, type Scheduler } from '../../streams/flow/clock.ts';
import type { Backend, Batch, Instance, Part } from '../../streams/inference/backend.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { noParameters } from '../../streams/inference/parameters.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';
import { checkIdentity } from './check-identity.ts';
import { identityDelays } from './identity-delays.ts';

export interface IdentityConfig {
  readonly scheduler: Scheduler;
}

interface Pair {
  readonly input: string;
  readonly output: string;
}

/**
 * Answers each request with its own inputs: output i of the config is input i, bytes shared and not copied; an optional input that is absent leaves
 * its output out. Config parameters make executions and loads last, see `IdentityDelays`. Needs no model file and runs on the calling thread, which
 * it never blocks.
 */
export const identityBackend = ({ scheduler }: IdentityConfig = { scheduler: machineScheduler }): Backend => ({
  name: 'identity',
  needsModelFile: false,
  gathers: false,
  ignoresWholeInputs: true,
  answersMany: false,
  describe: () => Promise.resolve(undefined),
  open: (_files, spec, { device }) =>
    new Observable((subscriber) => {
      // What it throws becomes the error of the Observable.
      checkIdentity(spec);
      const { creationMs, executionMs } = identityDelays(spec, device);
      const start = (): void => subscriber.next(identityInstance(spec, executionMs, scheduler));
      if (creationMs > 0) return scheduler.schedule(start, creationMs);
      start();
      return undefined;
    }),
});

const identityInstance = (spec: ModelSpec, delayMs: number, scheduler: Scheduler): Instance => {
  const pairs = spec.outputs.map((output, index) => ({ input: spec.inputs[index]?.name ?? '', output: output.name }));
  return {
    capacity: 1,
    run: (batch) =>
      new Observable((subscriber) => {
        batch.times.inputEndMs = scheduler.now();
        const answer = (): void => {
          batch.times.outputStartMs = scheduler.now();
          answerAll(pairs, batch, subscriber);
        };
        if (delayMs > 0) return scheduler.schedule(answer, delayMs);
        answer();
        return undefined;
      }),
  };
};

interface Answers {
  readonly closed: boolean;
  next(part: Part): void;
  complete(): void;
}

const answerAll = (pairs: readonly Pair[], { requests }: Batch, answers: Answers): void => {
  for (let of = 0; of < requests.length; of++) {
    const request = requests[of];
    if (request === undefined || answers.closed) return;
    answers.next({ of, outputs: mirrored(pairs, request), parameters: noParameters, isLast: true, error: undefined });
  }
  answers.complete();
};

const mirrored = (pairs: readonly Pair[], { inputs }: InferRequest): ReadonlyMap<string, Tensor> => {
  const outputs = new Map<string, Tensor>();
  for (const { input, output } of pairs) {
    const tensor = inputs.get(input);
    if (tensor !== undefined) outputs.set(output, tensor);
  }
  return outputs;
};
