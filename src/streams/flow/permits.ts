import type { Lease } from './leases.ts';

/** Leases that wait for work. */
export interface Permits<Resource> {
  /** Whether there is none to use. */
  readonly isEmpty: boolean;
  push(lease: Lease<Resource>): void;
  /** One for work that is to begin now; undefined when none can be had yet. */
  take(): Lease<Resource> | undefined;
  /** There is no work for now. */
  rest(): void;
  releaseAll(): void;
}
