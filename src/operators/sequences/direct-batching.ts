import type { Subscription } from 'rxjs';
import type { Granted } from '../../streams/flow/buffer-when-free.ts';
import type { Scheduler } from '../../streams/flow/clock.ts';
import { Hand } from '../../streams/flow/hand.ts';
import type { Lease } from '../../streams/flow/leases.ts';
import type { Permits } from '../../streams/flow/permits.ts';
import type { Turnstile } from '../../streams/flow/turnstile.ts';
import { TurnstileHand } from '../../streams/flow/turnstile-hand.ts';
import { WakeUp } from '../../streams/flow/wake-up.ts';
import type { Instance } from '../../streams/inference/backend.ts';
import type { Call } from '../call.ts';
import { PaddingRow } from './padding-row.ts';
import { planSlots, type SlotLimits } from './plan-slots.ts';
import { SequenceSlot, type SlotBatcher, type SlotKind } from './sequence-slot.ts';

/** The slots of one instance and what leaves them, whatever the strategy. */
export interface InstanceBatcherConfig {
  readonly kind: SlotKind;
  readonly order: number;
  readonly scheduler: Scheduler;
  readonly turnstile: Turnstile<Instance> | undefined;
  /** The slot's call leaves with the batch that is being made. */
  readonly begin: (slot: SequenceSlot) => void;
  /** The last call of the slot's sequence is on its way. */
  readonly handOver: (slot: SequenceSlot) => void;
  readonly emit: (granted: Granted<Call, Instance>) => void;
  readonly fail: (error: unknown) => void;
}

export interface DirectConfig extends InstanceBatcherConfig {
  readonly limits: SlotLimits;
  /** Nothing begins yet. */
  readonly isHeld: () => boolean;
}

/** A batcher that gets the leases of its instance. */
export interface InstanceBatcher extends SlotBatcher {
  lend(lease: Lease<Instance>): void;
}

export const slotsOf = (count: number, batcher: SlotBatcher, kind: SlotKind): readonly SequenceSlot[] =>
  Array.from({ length: count }, (_, index) => new SequenceSlot(index, batcher, kind));

/**
 * Batches of one instance in the direct strategy, one at a time: slot i is row i, by `planSlots`. Decides at once when the instance comes free or a wait
 * is over, and at the end of the tick when a request comes or goes.
 */
export class DirectBatcher implements InstanceBatcher {
  readonly order: number;
  readonly slots: readonly SequenceSlot[];
  isClosed = false;
  readonly #config: DirectConfig;
  readonly #plan: ReturnType<typeof planSlots>;
  readonly #permits: Permits<Instance>;
  readonly #padding: PaddingRow;
  readonly #wait: WakeUp;
  #turn: Subscription | undefined;
  #isDeciding = false;

  constructor(config: DirectConfig) {
    const { kind, limits, scheduler, turnstile } = config;
    this.#config = config;
    this.order = config.order;
    this.slots = slotsOf(Math.max(1, kind.spec.maxBatchSize), this, kind);
    this.#plan = planSlots(limits);
    this.#permits = turnstile === undefined ? new Hand() : new TurnstileHand(turnstile, () => this.hurry());
    this.#padding = new PaddingRow(kind.spec);
    this.#wait = new WakeUp(scheduler, () => this.hurry());
  }

  offer(): void {
    if (this.#turn !== undefined || this.#isDeciding || this.isClosed || this.#permits.isEmpty) return;
    this.#turn = this.#config.scheduler.schedule(() => {
      this.#stopTurn();
      this.hurry();
    }, 0);
  }

  withdraw(): void {
    this.offer();
  }

  lend(lease: Lease<Instance>): void {
    if (this.isClosed) return;
    this.#permits.push(lease);
    this.hurry();
  }

  /** Emitting may bring calls and leases back here: the loop sees them on its next round. */
  hurry(): void {
    if (this.#isDeciding) return;
    this.#isDeciding = true;
    while (!this.isClosed && !this.#permits.isEmpty && !this.#config.isHeld() && this.#sendOne());
    this.#isDeciding = false;
  }

  vacated(): void {
    this.#padding.trim();
  }

  close(): void {
    this.isClosed = true;
    this.#stopTurn();
    this.#wait.stop();
    this.#permits.releaseAll();
  }

  /** One batch on its way; false when there is none for now. */
  #sendOne(): boolean {
    const nowMs = this.#config.scheduler.now();
    const plan = this.#plan(this.slots, nowMs);
    if ('waitMs' in plan) {
      this.#wait.set(nowMs + plan.waitMs, plan.waitMs);
      this.#permits.rest();
      return false;
    }
    const representative = this.slots[plan.representative];
    const lease = this.#permits.take();
    if (lease === undefined || representative === undefined) return false;
    this.#wait.stop();
    const padding = this.#padding.like(representative);
    const items: Call[] = [];
    for (let row = 0; row < plan.rows.length; row++) items.push(this.#take(row, plan.rows[row]) ?? padding);
    this.#config.emit({ items, lease });
    return true;
  }

  #take(row: number, call: Call | undefined): Call | undefined {
    const slot = this.slots[row];
    if (slot === undefined || call === undefined) return undefined;
    this.#config.begin(slot);
    if (slot.isAtEnd) this.#config.handOver(slot);
    return call;
  }

  #stopTurn(): void {
    this.#turn?.unsubscribe();
    this.#turn = undefined;
  }
}
