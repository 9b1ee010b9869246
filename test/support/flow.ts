import type { Observable } from 'rxjs';
import { filter, map } from 'rxjs';
import type { Lease } from '../../src/streams/flow/leases.ts';
import type { Place } from '../../src/streams/flow/waiting-list.ts';

/** Withdraws items by name: a place is known once its item waits. */
export const withdrawing = (items$: Observable<string>) => {
  const places = new Map<string, Place<string>>();
  const onQueued = (item: string, place: Place<string>): void => {
    places.set(item, place);
  };
  return {
    onQueued,
    withdrawn$: items$.pipe(
      map((item) => places.get(item)),
      filter((place) => place !== undefined),
    ),
  };
};

export const makeLease = (resource = 'r') => {
  let isOpen = true;
  const lease: Lease<string> & { close(): void; released: number } = {
    resource,
    onEnded: undefined,
    released: 0,
    get isOpen() {
      return isOpen;
    },
    close: () => {
      isOpen = false;
    },
    release: () => {
      lease.released++;
      isOpen = false;
    },
  };
  return lease;
};
