import type { MonoTypeOperatorFunction, Subscription } from 'rxjs';
import { defer, identity, Observable } from 'rxjs';
import type { Batch, Instance, Part } from '../streams/inference/backend.ts';
import { InferError, toInferError } from '../streams/inference/error.ts';
import type { WarmUpCounters } from '../streams/inference/model-graph.ts';
import type { ModelSpec, WarmupSample } from '../streams/inference/model-spec.ts';
import type { Tensors } from '../streams/tensors/tensor.ts';
import { isBareEnd } from './batching/bare-end.ts';
import type { BatchedSpec } from './batching/form-batch.ts';
import { formBatch } from './batching/form-batch.ts';

export const noWarmUpCounters = (): WarmUpCounters => ({ in: 0, out: 0, failed: 0, running: 0 });

export interface WarmUpConfig {
  readonly spec: Pick<ModelSpec, 'name' | 'version' | 'decoupled' | 'warmups'> & BatchedSpec;
  readonly counters: WarmUpCounters;
}

const noTensors: Tensors = new Map();

const batchOf = ({ requests }: WarmupSample): Batch => ({
  requests,
  rows: requests.map(() => 1),
  totalRows: requests.length,
  wholeInputs: noTensors,
  times: { inputEndMs: 0, outputStartMs: 0 },
});

const turnsOf = function* (samples: readonly WarmupSample[]): Generator<WarmupSample, void> {
  for (const sample of samples) for (let turn = 0; turn < sample.count; turn++) yield sample;
};

/** What became of each request of a sample. */
class Outcome {
  readonly #answers: number[];
  readonly #faults: (string | undefined)[];
  readonly #isLast: boolean[];

  constructor(requests: number) {
    this.#answers = Array.from({ length: requests }, () => 0);
    this.#faults = Array.from({ length: requests }, () => undefined);
    this.#isLast = Array.from({ length: requests }, () => false);
  }

  add(part: Part): void {
    const { of, error, isLast } = part;
    const answers = this.#answers[of] ?? 0;
    if (answers === 0 || !isBareEnd(part)) this.#answers[of] = answers + 1;
    this.#isLast[of] = isLast;
    if (error !== undefined) this.#faults[of] ??= error.message;
  }

  /** The run failed: so did each request without a last answer. */
  fail(message: string): void {
    for (const [of, isLast] of this.#isLast.entries()) if (!isLast) this.#faults[of] ??= message;
  }

  /** For a model that is to give each request one answer. */
  wantSingle(model: string): void {
    for (const [of, answers] of this.#answers.entries()) {
      if (answers !== 1) this.#faults[of] ??= `expected a single response, got ${answers} from ${model}`;
    }
  }

  get faults(): readonly string[] {
    return this.#faults.filter((fault) => fault !== undefined);
  }
}

const runOnce = (
  instance: Instance,
  sample: WarmupSample,
  { spec, counters }: WarmUpConfig,
  form: (plain: Batch) => Batch,
): Observable<never> =>
  new Observable((subscriber) => {
    const size = sample.requests.length;
    const outcome = new Outcome(size);
    let isOver = false;
    counters.in += size;
    counters.running += size;

    const leave = (failed: number): void => {
      isOver = true;
      counters.running -= size;
      counters.failed += failed;
      counters.out += size - failed;
    };

    const end = (): void => {
      const { faults } = outcome;
      leave(faults.length);
      if (faults.length === 0) {
        subscriber.complete();
        return;
      }
      const text = faults.map((fault) => `${fault}; `).join('');
      subscriber.error(new InferError('INVALID_ARGUMENT', `failed to run warmup sample '${sample.name}': ${text}`));
    };

    subscriber.add(() => {
      if (!isOver) leave(size);
    });
    subscriber.add(
      defer(() => instance.run(form(batchOf(sample)))).subscribe({
        next: (part) => outcome.add(part),
        error: (error) => {
          outcome.fail(toInferError(error).message);
          end();
        },
        complete: () => {
          if (!spec.decoupled) outcome.wantSingle(`model '${spec.name}' version ${spec.version}`);
          end();
        },
      }),
    );
  });

/** Completes when all samples have run, one after another; errors with the first that fails. */
const runAll = (instance: Instance, config: WarmUpConfig, form: (plain: Batch) => Batch): Observable<never> =>
  new Observable((subscriber) => {
    const turns = turnsOf(config.spec.warmups);
    let running: Subscription | undefined;
    let isBetween = true;
    let isLooping = false;

    // An instance may answer within `subscribe`: the loop goes on.
    const goOn = (): void => {
      isBetween = true;
      if (isLooping) return;
      isLooping = true;
      while (isBetween && !subscriber.closed) {
        isBetween = false;
        const { value: sample } = turns.next();
        if (sample === undefined) subscriber.complete();
        else running = runOnce(instance, sample, config, form).subscribe({ error: (error) => subscriber.error(error), complete: goOn });
      }
      isLooping = false;
    };

    subscriber.add(() => running?.unsubscribe());
    goOn();
    // It may be over already, by an error within `subscribe`.
    if (subscriber.closed) running?.unsubscribe();
  });

/**
 * Runs a model's warm-up samples on each life of an instance before anybody gets to see it: in the config's order, each as often as it says, its
 * requests as one batch, past validation, queue, cache and statistics.
 *
 * emits when      the last sample has been answered in full
 * errors when     a request of a sample fails (INVALID_ARGUMENT with all that failed of it), or the life does
 * completes when  the life does
 * on unsubscribe  cancels the sample that runs, and ends the life
 */
export const warmUp = (config: WarmUpConfig): MonoTypeOperatorFunction<Instance> => {
  if (config.spec.warmups.length === 0) return identity;
  const formed = formBatch(config.spec);
  const form = (plain: Batch): Batch => formed?.(plain).batch ?? plain;
  return (life$) =>
    new Observable((subscriber) => {
      subscriber.add(
        life$.subscribe({
          next: (instance) => {
            subscriber.add(
              runAll(instance, config, form).subscribe({
                error: (error) => subscriber.error(error),
                complete: () => subscriber.next(instance),
              }),
            );
          },
          error: (error) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
    });
};
