import { catchError, defer, EMPTY, from, identity, mergeMap, Observable, tap, throwError } from 'rxjs';
import { noBufferCounters } from '../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../streams/flow/clock.ts';
import type { OrderCounters } from '../streams/flow/in-order.ts';
import { noOrderCounters } from '../streams/flow/in-order.ts';
import type { PriorityLane } from '../streams/flow/priority-lane.ts';
import { restart } from '../streams/flow/restart.ts';
import type { Instance, Placement } from '../streams/inference/backend.ts';
import { InferError, requestPrefix, toInferError } from '../streams/inference/error.ts';
import type { EventSink } from '../streams/inference/events.ts';
import type { Infer, Layer } from '../streams/inference/infer.ts';
import { layers } from '../streams/inference/infer.ts';
import type { Log } from '../streams/inference/log.ts';
import type { ModelGraph } from '../streams/inference/model-graph.ts';
import type { ModelSpec } from '../streams/inference/model-spec.ts';
import type { BatchingChoices } from './batching/dynamic-batching.ts';
import { noRunCounters, runBatch } from './batching/run-batch.ts';
import type { CacheStageCounters } from './cache/response-cache.ts';
import type { Call } from './call.ts';
import { Gate } from './gate.ts';
import { graphOf } from './graph-of.ts';
import { orderBatches, preservesOrdering } from './layers/preserve-ordering.ts';
import type { RateLimiter, Registration } from './rate-limiter/rate-limiter.ts';
import { schedule } from './schedule.ts';
import { OpenSequences } from './sequences/open-sequences.ts';
import { noWarmUpCounters, warmUp } from './warm-up.ts';

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
  /** Innermost of the layers, behind the door that closes when the model drains; undefined for a model without a cache. */
  readonly cache?: { readonly layer: Layer; readonly counters: CacheStageCounters } | undefined;
  /** Of the layer that preserves ordering, where there is one. */
  readonly ordering?: OrderCounters;
  /** What is not in the config about how it batches. */
  readonly batching?: Omit<BatchingChoices, 'turnstile'>;
  /** Shared by all models; without one, resources and priorities of instances mean nothing. */
  readonly rateLimiter?: RateLimiter;
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
  /** From now on requests get UNAVAILABLE; resolves when nothing waits or runs, and nobody holds it. */
  drain(): Promise<void>;
  /** Keeps it, for requests of a model that has begun something: until `release` it takes those while it drains. */
  hold(): void;
  release(): void;
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
    const active = placements.filter(({ placement }) => !placement.isPassive);
    const gate = new Gate({ spec, scheduler });
    const queue = noBufferCounters();
    const running = noRunCounters();
    const ordering = config.ordering ?? noOrderCounters();
    const warmUps = noWarmUpCounters();
    const started = new Set<number>();
    let registration: Registration | undefined;
    const openSequences = new OpenSequences();
    let lane: PriorityLane<Call> | undefined;
    const alive = new Set<Instance>();
    let isDraining = false;
    let isWired = false;

    const enter = config.cache === undefined ? gate.infer : gate.behind(config.cache.layer);
    const model: RunningModel = {
      infer: layers(config.layers)(active.length > 0 ? enter : refuse(spec)),
      isReady: () => alive.size === placements.length && [...alive].every((instance) => instance.isReady?.() ?? true),
      drain: async () => {
        isDraining = true;
        // Sequences go on until their clients end them or they are idle.
        if (spec.sequenceBatching !== undefined) await openSequences.whenNone();
        await gate.door.drain();
      },
      hold: () => gate.door.hold(),
      release: () => gate.door.release(),
      graph: () =>
        graphOf({
          spec,
          cache: config.cache?.counters,
          queue,
          running,
          lane,
          backlog: openSequences.backlog,
          ordering,
          warmUps,
          rateLimiter: registration?.counters,
          instances: { total: placements.length, alive: alive.size, busy: running.batches },
          active: active.length,
        }),
    };

    const emitWhenStarted = (): void => {
      if (isWired && started.size === placements.length) subscriber.next(model);
    };

    const onUp = (placement: number, instance: Instance): void => {
      alive.add(instance);
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

    const warm = warmUp({ spec, counters: warmUps });

    /** One life of an instance, counted and logged. */
    const open = (placement: number, life: () => Observable<Instance>) => (): Observable<Instance> =>
      defer(() => {
        let up: Instance | undefined;
        const warm$ = placements[placement]?.placement.isPassive ? life() : life().pipe(warm);
        return (registration?.seat(placement, warm$) ?? warm$).pipe(
          tap({
            next: (instance) => {
              up = instance;
              onUp(placement, instance);
            },
            error: (error) => onDown(placement, toInferError(error).message),
            complete: () => onDown(placement, 'it ended by itself'),
            finalize: () => {
              if (up !== undefined) alive.delete(up);
            },
          }),
        );
      });

    if (placements.length === 0) {
      subscriber.error(new InferError('INTERNAL', `${nameOf(spec)} has no instances`));
      return;
    }

    try {
      registration = config.rateLimiter?.register(placements.map(({ placement }) => placement));
    } catch (error) {
      subscriber.error(toInferError(error));
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
    const scheduled = schedule({
      ...config.batching,
      spec,
      lives$,
      withdrawn$: gate.withdrawn$,
      scheduler,
      log: config.log,
      counters: queue,
      onLane: (made) => {
        lane = made;
      },
      openSequences,
      isStopping: () => isDraining,
      turnstile: registration?.turnstile,
    });
    const onError = (error: unknown): void => subscriber.error(toInferError(error));

    subscriber.add(() => gate.door.close());
    // Before the leases come back: nothing is granted to a model that ends.
    subscriber.add(() => registration?.close());
    subscriber.add(passive$.subscribe({ error: onError }));
    if (active.length > 0) {
      const order =
        spec.sequenceBatching !== undefined && preservesOrdering(spec) ? tap(orderBatches({ spec, counters: ordering })) : identity;
      subscriber.add(gate.calls$.pipe(scheduled, order, mergeMap(run)).subscribe({ error: onError }));
    }
    // Instances in this process are ready while the graph is still being put together.
    isWired = true;
    emitWhenStarted();
  });

const nameOf = ({ name, version }: ModelSpec): string => `model '${name}' version ${version}`;

/** Of a model all of whose instances are passive: nobody would ever come to take a request. */
const refuse =
  (spec: ModelSpec): Infer =>
  ({ id }) =>
    throwError(
      () => new InferError('UNAVAILABLE', `${requestPrefix(id)}every instance of ${nameOf(spec)} is passive: nothing runs its requests`),
    );
