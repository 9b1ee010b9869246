import type { Plan } from '../../streams/flow/buffer-when-free.ts';
import type { Decision } from '../../streams/inference/infer.ts';

/** What the rule looks at in a request that waits. */
export interface WaitingRequest {
  /** At least 1. */
  readonly rows: number;
  readonly arrivedMs: number;
  /** Requests batch only with an equal key. */
  readonly shapeKey: string;
}

export interface BatchLimits {
  /** Rows; at least 1. */
  readonly maxBatchSize: number;
  /** Rows, ascending; empty for a model without batch dimension. */
  readonly preferredBatchSizes: readonly number[];
  readonly maxQueueDelayMs: number;
}

/**
 * Triton's rule for a batch beside a free instance. Never looks past the first request that does not fit or whose shape differs, and never
 * reorders. Of the preferred sizes within reach the largest is taken, at once; without one, what waits goes when
 * - the next request is over the limit, would exceed the largest preferred size, has another shape, or does not join,
 * - the largest preferred size is reached or exceeded,
 * - the oldest has waited for the delay: then preferred sizes are ignored and all that fits goes.
 * `begin` begins a batch whenever the queue is looked at, for a rule of somebody's own: it returns whether the next request, in order, joins. A first
 * request that does not goes alone.
 *
 * @example limits of 8 rows, preferred [4], no delay, five single rows waiting: takes 4, then 1
 */
export const planBatch = <Request extends WaitingRequest = WaitingRequest>(
  limits: BatchLimits,
  begin?: () => (request: Request) => boolean,
): Decision<Iterable<Request>, Plan> => {
  const { maxBatchSize, maxQueueDelayMs } = limits;
  const preferred = new Set(limits.preferredBatchSizes);
  const maxPreferred = limits.preferredBatchSizes.at(-1) ?? 0;

  return (waiting, nowMs) => {
    let requests = 0;
    let rows = 0;
    let shapeKey = '';
    let oldestMs = Number.POSITIVE_INFINITY;
    let isCut = false;
    /** Requests of the best batch so far; 0 for none. */
    let best = 0;
    const joins = begin?.();

    for (const request of waiting) {
      if (requests === 0) {
        shapeKey = request.shapeKey;
      } else {
        if (best === 0 && rows + request.rows > maxPreferred) best = requests;
        isCut = rows + request.rows > maxBatchSize || request.shapeKey !== shapeKey;
        if (isCut) break;
      }
      if (joins !== undefined && !joins(request)) {
        isCut = true;
        if (requests > 0) break;
      }
      requests++;
      rows += request.rows;
      oldestMs = Math.min(oldestMs, request.arrivedMs);
      if (preferred.has(rows)) best = requests;
      if (isCut) break;
    }

    // In this form, and not as an age, so that a wake-up at the very end of the delay cannot fall short of it by a rounding error.
    const dueMs = oldestMs + maxQueueDelayMs;
    const isDue = nowMs >= dueMs;
    if (best > 0 && !(isDue && maxQueueDelayMs > 0)) return { take: best };
    if (isCut || rows >= maxPreferred || isDue) return { take: requests };
    return { waitMs: dueMs - nowMs };
  };
};

/** The default scheduler's rule: one request at a time. */
export const planSingle: Decision<Iterable<WaitingRequest>, Plan> = () => ({ take: 1 });
