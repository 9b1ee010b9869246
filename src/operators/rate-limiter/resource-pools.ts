import type { Pool, Share } from '../../streams/flow/share-permits.ts';
import type { Placement } from '../../streams/inference/backend.ts';
import type { ResourceDemand } from '../../streams/inference/model-spec.ts';

/** One `--rate-limit-resource`. */
export interface ResourceLimit {
  readonly name: string;
  readonly count: number;
  /** Undefined for every device, and for a global resource. */
  readonly device: number | undefined;
}

/** One resource, of one device or of all together. */
export interface ResourcePool extends Pool {
  readonly name: string;
  /** Undefined for a global resource. */
  readonly device: number | undefined;
  /** The most that one instance takes. */
  required: number;
}

/** Given no limits there is as much of each resource as the instance takes that takes most; given some, nothing of what they do not name. */
export class ResourcePools {
  readonly #limits: readonly ResourceLimit[];
  readonly #pools = new Map<string, ResourcePool>();

  constructor(limits: readonly ResourceLimit[]) {
    this.#limits = limits;
  }

  /** What an instance takes while it runs a batch, each pool once. */
  sharesOf({ resources, device }: Placement): readonly Share[] {
    const counts = new Map<ResourcePool, number>();
    for (const demand of resources) {
      const pool = this.#poolOf(demand, device);
      if (demand.count > 0) counts.set(pool, (counts.get(pool) ?? 0) + demand.count);
    }
    return Array.from(counts, ([pool, count]) => ({ pool, count }));
  }

  /** Makes the limits anew for those who share now. Returns the pools whose limit is another than before. */
  settle(all: Iterable<{ readonly shares: readonly Share[] }>): readonly ResourcePool[] {
    const required = new Map<Pool, number>();
    for (const { shares } of all) {
      for (const { pool, count } of shares) required.set(pool, Math.max(count, required.get(pool) ?? 0));
    }
    const changed: ResourcePool[] = [];
    for (const [key, pool] of this.#pools) {
      pool.required = required.get(pool) ?? 0;
      if (pool.required === 0 && pool.used === 0) this.#pools.delete(key);
      const limit = this.#limits.length === 0 ? pool.required : this.#limitOf(pool);
      if (limit === pool.limit) continue;
      pool.limit = limit;
      changed.push(pool);
    }
    return changed;
  }

  /** Why some instance could never run, or undefined; as of the last `settle`. */
  findFault(): string | undefined {
    const ofDevices = new Set<string>();
    const wanted = [...this.#pools.values()].filter(({ required }) => required > 0);
    for (const { name, device } of wanted) if (device !== undefined) ofDevices.add(name);
    for (const { name, device } of wanted) {
      if (device !== undefined || !ofDevices.has(name)) continue;
      return `Resource "${name}" is present as both global and device-specific resource in the model configuration.`;
    }
    for (const { name, limit, required } of wanted) {
      if (required <= limit) continue;
      return (
        `Resource count for "${name}" is limited to ${limit} which will prevent scheduling of one or more model instances, ` +
        `the minimum required count is ${required}`
      );
    }
    return undefined;
  }

  #poolOf({ name, isGlobal }: ResourceDemand, ofDevice: number): ResourcePool {
    const device = isGlobal ? undefined : ofDevice;
    const key = `${device ?? 'global'} ${name}`;
    const pool = this.#pools.get(key) ?? { name, device, limit: 0, used: 0, required: 0 };
    this.#pools.set(key, pool);
    return pool;
  }

  /** The most that is listed for it: a global resource looks at the entries of all devices, one of a device at its own and those of all. */
  #limitOf({ name, device }: ResourcePool): number {
    let limit = 0;
    for (const listed of this.#limits) {
      const isMeant = device === undefined || listed.device === undefined || listed.device === device;
      if (listed.name === name && isMeant) limit = Math.max(limit, listed.count);
    }
    return limit;
  }
}
