import type { OperatorFunction } from 'rxjs';
import { Observable, of, type Subscription, tap } from 'rxjs';
import type { BufferCounters, Granted } from '../../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../../streams/flow/clock.ts';
import { leases } from '../../streams/flow/leases.ts';
import type { Turnstile } from '../../streams/flow/turnstile.ts';
import type { Instance } from '../../streams/inference/backend.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelSpec, SequenceBatching } from '../../streams/inference/model-spec.ts';
import type { Call } from '../call.ts';
import { DirectBatcher, type InstanceBatcher, type InstanceBatcherConfig } from './direct-batching.ts';
import { OldestBatcher } from './oldest-batching.ts';
import { OpenSequences } from './open-sequences.ts';
import { SlotKind, type SlotSpec } from './sequence-slot.ts';
import { SequenceTable } from './sequence-table.ts';
import type { WaitingCall } from './slot-line.ts';

export interface SequenceBatchingConfig {
  readonly spec: SlotSpec & Pick<ModelSpec, 'maxQueueSize'>;
  readonly batching: SequenceBatching;
  /** Lives of the instances that take requests; each emits its instance once and ends with it. */
  readonly lives$: Observable<Observable<Instance>>;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** Of what waits in slots and in the backlog. */
  readonly counters: BufferCounters;
  /** Counts the sequences that take requests. */
  readonly open?: OpenSequences | undefined;
  /** Once true, no sequence begins; those that have begun may end. */
  readonly isStopping?: (() => boolean) | undefined;
  /**
   * No batch before so many requests wait, the first time: in all slots of the model in the direct strategy, at one instance in the oldest; 0 for
   * none.
   */
  readonly holdUntilQueued?: number | undefined;
  /** Nor, in the direct strategy, before so many requests of sequences without a slot wait. */
  readonly holdUntilBacklogged?: number | undefined;
  readonly turnstile?: Turnstile<Instance> | undefined;
}

/**
 * A sequence model's scheduler: each sequence gets a slot of one instance and keeps it until its end, or waits for one; the instance's own batcher
 * forms batches of what its slots have ready.
 *
 * emits when      the direct or oldest rule takes some and the instance is free: at once when it comes free, at the end of the tick when a call does
 * waits when      a sequence has no slot, its request before is on its way, the instance is busy, or the rule says so
 * rejects         what Triton's checks refuse, a call that finds `maxQueueSize` others waiting, sequences whose deadline is over in the backlog
 * cancels         with a waiting call that is cancelled those behind it in its sequence, and all of a sequence that has no slot yet
 * errors when     the source or `lives$` errors, or calls wait after `lives$` and all lives have ended
 * completes when  the source has completed and nothing waits or runs
 * on unsubscribe  fails what waits with UNAVAILABLE and ends every life
 * The end of a life ends the sequences that were on it: what waits of them fails with UNAVAILABLE.
 */
export const sequenceBatching =
  (config: SequenceBatchingConfig): OperatorFunction<Call, Granted<Call, Instance>> =>
  (source) =>
    new Observable((subscriber) => {
      const { spec, batching, scheduler, log, counters, turnstile, holdUntilQueued = 0, holdUntilBacklogged = 0 } = config;
      const { strategy } = batching;
      const open = config.open ?? new OpenSequences();
      let instances = 0;
      let lives = 0;
      let isHeld = holdUntilQueued + holdUntilBacklogged > 0;
      let sourceIsDone = false;
      let livesAreDone = false;

      const onError = (error: unknown): void => subscriber.error(error);

      const endWhenDone = (): void => {
        if (sourceIsDone && table.isEmpty) subscriber.complete();
        else if (livesAreDone && lives === 0 && counters.queued > 0) {
          onError(new Error(`${counters.queued} wait and nobody is left to take them`));
        }
      };

      const letGo = (): void => {
        if (!isHeld || table.queuedInSlots < holdUntilQueued || table.backlog.requests < holdUntilBacklogged) return;
        isHeld = false;
        for (const batcher of [...table.batchers]) batcher.hurry();
      };

      const table: SequenceTable = new SequenceTable({
        spec,
        batching,
        scheduler,
        log,
        counters,
        open,
        isStopping: config.isStopping ?? (() => false),
        onChange: () => {
          letGo();
          endWhenDone();
        },
      });
      open.backlog = table.backlog;
      const kind = new SlotKind(spec, table);

      const makeBatcher = (): InstanceBatcher => {
        const common: InstanceBatcherConfig = {
          kind,
          order: instances++,
          scheduler,
          turnstile,
          begin: (slot) => table.begin(slot),
          handOver: (slot) => table.handOver(slot),
          emit: (granted) => subscriber.next(granted),
          fail: onError,
        };
        return strategy.kind === 'direct'
          ? new DirectBatcher({ ...common, limits: strategy, isHeld: () => isHeld })
          : new OldestBatcher({ ...common, strategy, holdUntilQueued });
      };

      const openLife = (life$: Observable<Instance>): Subscription => {
        let batcher: InstanceBatcher | undefined;
        let cause: unknown;
        let lost: readonly WaitingCall[] = [];
        // Before its leases end, and with them its batches: no sequence of the backlog is to come to an instance that is gone.
        const close = (error?: unknown): void => {
          cause = error;
          if (batcher === undefined) return;
          batcher.close();
          lost = table.removeSlots(batcher);
        };
        lives++;
        return of(life$.pipe(tap({ error: close, complete: close })))
          .pipe(leases({ capacity: (instance) => (strategy.kind === 'direct' ? 1 : instance.capacity) }))
          .subscribe({
            next: (lease) => {
              if (batcher === undefined) {
                batcher = makeBatcher();
                table.addSlots(batcher);
              }
              batcher.lend(lease);
            },
            error: onError,
            complete: () => {
              lives--;
              if (batcher !== undefined) table.lose(lost, cause);
              endWhenDone();
            },
          });
      };

      // First of all: what ends with the lives finds nothing to go on with.
      subscriber.add(() => {
        for (const batcher of table.batchers) batcher.close();
        table.close();
      });
      subscriber.add(
        config.lives$.subscribe({
          next: (life$) => subscriber.add(openLife(life$)),
          error: onError,
          complete: () => {
            livesAreDone = true;
            endWhenDone();
          },
        }),
      );
      if (subscriber.closed) return;
      subscriber.add(
        source.subscribe({
          next: (call) => table.arrive(call),
          error: onError,
          complete: () => {
            sourceIsDone = true;
            endWhenDone();
          },
        }),
      );
    });
