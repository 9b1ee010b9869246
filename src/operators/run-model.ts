import { catchError, defer, EMPTY, from, mergeMap, Observable, tap } from 'rxjs';
import { noBufferCounters } from '../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import { restart } from '../streams/flow/restart.ts';
import type { Instance, Placement } from '../streams/inference/backend.ts';
import { InferError, toInferError } from '../streams/inference/error.ts';
import type { EventSink } from '../streams/inference/events.ts';
import type { Infer, Layer } from '../streams/inference/infer.ts';
import { layers } from '../streams/inference/infer.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ModelGraph } from '../streams/inference/model-graph.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import { Gate } from './gate.ts';
import { noRunCounters, runBatch } from './run-batch.ts';
import { schedule } from './schedule.ts';

/** Where an instance runs, and one life of it: `backend.open` with its files and placement. */
export interface PlacedInstance {
  readonly placement: Placement;
  readonly open: () => Observable<Instance>;
}

export interface RunModelConfig {
  readonly spec: ModelSpec;
  readonly placements: readonly PlacedInstance[];
  /** Around the queue, the outermost first. */
  readonly layers: readonly Layer[];
  readonly sink: EventSink;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

/** A version of a model that answers. */
export interface RunningModel {
  readonly infer: Infer;
  graph(): ModelGraph;
  /** Whether all instances are alive. */
  isReady(): boolean;
  /** From now on requests get UNAVAILABLE; resolves when nothing waits or runs. */
  drain(): Promise<void>;
}

const longestPauseMs = 30_000;
const pauseMs = (failures: number): number => Math.min(longestPauseMs, 100 * 2 ** (failures - 1));

/**
 * Builds a model's graph once and keeps it running: requests enter it through `RunningModel.infer`.
 *
 * emits when      every placement has had its first instance
 * errors when     an instance cannot start (an InferError); once running, only if the graph itself is at fault
 * completes       never
 * on unsubscribe  fails with UNAVAILABLE what waits or runs, and ends every instance
 * An instance that dies later fails its batches and is started again after growing pauses; meanwhile requests wait.
 */
export const runModel = (config: RunModelConfig): Observable<RunningModel> =>
  new Observable((subscriber) => {
    const { spec, placements, scheduler } = config;
    const gate = new Gate({ spec, scheduler });
    const queue = noBufferCounters();
    const running = noRunCounters();
    const started = new Set<number>();
    let alive = 0;
    let isWired = false;

    const model: RunningModel = {
      infer: layers(config.layers)(gate.infer),
      isReady: () => alive === placements.length,
      drain: () => gate.drain(),
      graph: () => ({
        model: spec.name,
        version: spec.version,
        stages: [
          {
            name: 'queue',
            in: queue.in,
            out: queue.out,
            failed: queue.rejected + queue.withdrawn + queue.forgotten,
            queued: queue.queued,
            running: 0,
            limit: spec.maxQueueSize,
          },
          { name: 'run', in: running.in, out: running.out, failed: running.failed, queued: 0, running: running.running, limit: 0 },
        ],
        instances: { total: placements.length, alive, busy: running.batches },
      }),
    };

    const emitWhenStarted = (): void => {
      if (isWired && started.size === placements.length) subscriber.next(model);
    };

    const onUp = (placement: number): void => {
      alive++;
      if (started.has(placement)) {
        config.log.info(`instance ${placement} of ${nameOf(spec)} runs again`);
      } else {
        started.add(placement);
        emitWhenStarted();
      }
    };

    const onDown = (placement: number, why: string): void => {
      if (started.has(placement)) config.log.error(`instance ${placement} of ${nameOf(spec)} ended, another follows: ${why}`);
    };

    /** One life of an instance, counted and logged. */
    const open = (placement: number, life: () => Observable<Instance>) => (): Observable<Instance> =>
      defer(() => {
        let isUp = false;
        return life().pipe(
          tap({
            next: () => {
              isUp = true;
              onUp(placement);
            },
            error: (error) => onDown(placement, toInferError(error).message),
            complete: () => onDown(placement, 'it ended by itself'),
            finalize: () => {
              if (isUp) alive--;
            },
          }),
        );
      });

    if (placements.length === 0) {
      subscriber.error(new InferError('INTERNAL', `${nameOf(spec)} has no instances`));
      return;
    }

    const lives = placements.map(({ open: life }, index) => restart({ open: open(index, life), pauseMs, scheduler }));
    const isActive = (_: unknown, index: number): boolean => placements[index]?.placement.isPassive === false;
    const lives$ = from(lives.filter(isActive)).pipe(mergeMap((all$) => all$));
    // Kept alive, and lent to nobody. What their ends mean is said where they are opened.
    const passive$ = from(lives.filter((_, index) => !isActive(_, index))).pipe(
      mergeMap((all$) => all$),
      mergeMap((life$) => life$.pipe(catchError(() => EMPTY))),
    );
    const run = runBatch({ spec, sink: config.sink, scheduler, log: config.log, counters: running });

    subscriber.add(() => gate.close());
    subscriber.add(passive$.subscribe({ error: (error) => subscriber.error(toInferError(error)) }));
    subscriber.add(
      gate.calls$.pipe(schedule({ spec, lives$, withdrawn$: gate.withdrawn$, scheduler, counters: queue }), mergeMap(run)).subscribe({
        error: (error) => subscriber.error(toInferError(error)),
      }),
    );
    // Instances in this process are ready while the graph is still being put together.
    isWired = true;
    emitWhenStarted();
  });

const nameOf = ({ name, version }: ModelSpec): string => `model '${name}' version ${version}`;
