import { sameTimeMs } from '../../streams/flow/alarm.ts';
import type { DirectStrategy } from '../../streams/inference/model-spec.ts';
import type { WaitingRequest } from '../batching/plan-batch.ts';

/** A slot as the rule sees it: with the request that goes next, if it has one. */
export interface SlotView<Request extends WaitingRequest> {
  readonly next: Request | undefined;
}

/** The rows of the next batch, undefined for one that only fills it up; or for how long to wait: Infinity until something comes. */
export type SlotPlan<Request> =
  | { readonly rows: readonly (Request | undefined)[]; readonly representative: number }
  | { readonly waitMs: number };

export type SlotLimits = Pick<DirectStrategy, 'maxQueueDelayMs' | 'minimumSlotUtilization'>;

const nothing = { waitMs: Number.POSITIVE_INFINITY } as const;

/**
 * Triton's rule for the direct strategy, where a slot is a row. The lowest slot with a request is the representative: those whose shapes differ from its
 * own have to wait. The batch reaches up to the highest row whose request has these shapes, and all other rows below are filled up. It goes at once,
 * unless there are both a delay and a minimum of slots that must be ready: then when one of them is reached.
 *
 * @example four slots with requests in the first and the third, no delay: three rows, the second one filled up
 */
export const planSlots =
  ({ maxQueueDelayMs, minimumSlotUtilization }: SlotLimits) =>
  <Request extends WaitingRequest>(slots: readonly SlotView<Request>[], nowMs: number): SlotPlan<Request> => {
    let representative = -1;
    let shapeKey = '';
    let highest = 0;
    let ready = 0;
    let oldestMs = Number.POSITIVE_INFINITY;

    for (let index = 0; index < slots.length; index++) {
      const request = slots[index]?.next;
      if (request === undefined) continue;
      ready++;
      oldestMs = Math.min(oldestMs, request.arrivedMs);
      if (representative < 0) {
        representative = index;
        shapeKey = request.shapeKey;
      }
      if (request.shapeKey === shapeKey) highest = index;
    }

    if (ready === 0) return nothing;
    const waitMs = oldestMs + maxQueueDelayMs - nowMs;
    // A wake-up at the end of the delay must not fall short of it by a rounding error.
    if (ready / slots.length < minimumSlotUtilization && waitMs > sameTimeMs) return { waitMs };

    const rows: (Request | undefined)[] = [];
    for (let index = 0; index <= highest; index++) {
      const request = slots[index]?.next;
      rows.push(request?.shapeKey === shapeKey ? request : undefined);
    }
    return { rows, representative };
  };
