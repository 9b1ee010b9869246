import type { Lease } from './leases.ts';
import type { Permits } from './permits.ts';

/** Gives out one of the resource that has most of them here, so that no work queues behind a busy resource. */
export class Hand<Resource> implements Permits<Resource> {
  readonly #byResource = new Map<Resource, Lease<Resource>[]>();

  push(lease: Lease<Resource>): void {
    const others = this.#byResource.get(lease.resource);
    if (others === undefined) {
      this.#dropEnded();
      this.#byResource.set(lease.resource, [lease]);
    } else {
      others.push(lease);
    }
  }

  get isEmpty(): boolean {
    for (const leases of this.#byResource.values()) if (leases.at(-1)?.isOpen) return false;
    return true;
  }

  take(): Lease<Resource> | undefined {
    let most: Lease<Resource>[] = [];
    for (const leases of this.#byResource.values()) if (leases.length > most.length && leases.at(-1)?.isOpen) most = leases;
    return most.pop();
  }

  rest(): void {}

  /** One open lease of each resource: first the one that `take` would give. */
  candidates(): readonly Lease<Resource>[] {
    const open = [...this.#byResource.values()].filter((leases) => leases.at(-1)?.isOpen);
    return open.sort((a, b) => b.length - a.length).flatMap((leases) => leases.slice(-1));
  }

  remove(lease: Lease<Resource>): void {
    const leases = this.#byResource.get(lease.resource) ?? [];
    const index = leases.indexOf(lease);
    if (index >= 0) leases.splice(index, 1);
  }

  releaseAll(): void {
    for (const leases of this.#byResource.values()) for (const lease of leases) lease.release();
    this.#byResource.clear();
  }

  /** All permits of a resource end together, with it. */
  #dropEnded(): void {
    for (const [resource, leases] of this.#byResource) if (!leases.at(-1)?.isOpen) this.#byResource.delete(resource);
  }
}
