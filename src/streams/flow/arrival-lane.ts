import type { Lane } from './lane.ts';
import { WaitingList } from './waiting-list.ts';

/** Items leave in the order in which they came, and may wait for ever. */
export class ArrivalLane<T extends NonNullable<unknown>> extends WaitingList<T> implements Lane<T> {
  readonly nextDeadlineMs = Number.POSITIVE_INFINITY;

  isFull(): boolean {
    return false;
  }

  expire(): undefined {
    return undefined;
  }
}
