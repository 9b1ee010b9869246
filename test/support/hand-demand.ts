import type { Demand } from '../../src/streams/flow/demand.ts';

/** Room that a test gives and takes. */
export class HandDemand implements Demand {
  isOpen = true;
  onOpen: (() => void) | undefined;

  close(): void {
    this.isOpen = false;
  }

  open(): void {
    this.isOpen = true;
    this.onOpen?.();
  }
}
