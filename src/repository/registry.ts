import type { RunningModel } from '../operators/run-model.ts';
import type { ModelIndexEntry, ModelState, ServedModel } from '../streams/inference/data-plane.ts';

/** A version that answers. */
export interface ReadyVersion {
  readonly served: ServedModel;
  readonly running: RunningModel;
  /** What preparing it and starting its instances took, without the waits for other versions. */
  readonly loadSeconds: number;
  /** Equal where what was loaded is equal. Rejects with an InferError when the files cannot be read. */
  readonly fingerprint: () => Promise<string>;
}

type VersionState = Exclude<ModelState, 'UNKNOWN' | 'READY'>;

interface VersionEntry {
  readonly state: ModelState;
  readonly reason: string;
}

interface ModelEntry {
  /** Ascending. */
  readonly versions: Map<string, VersionEntry>;
  /** Those of `versions` that are READY, ascending. */
  readonly ready: Map<string, ReadyVersion>;
  /** The last of `ready`. */
  newest: ReadyVersion | undefined;
  /** Why the model has no versions at all. */
  failure: string;
}

/** Reason of a version that was unloaded on purpose. */
export const unloaded = 'unloaded';

const byNumber = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (BigInt(a) < BigInt(b) ? -1 : 1);

/** Every model that the repositories hold, and in what state each of its versions is. Answers a request with two map look-ups. */
export class Registry {
  readonly #models = new Map<string, ModelEntry>();

  /** A model that has no version, for the reason given; it has no versions yet where that is empty. */
  add(name: string, failure = ''): void {
    this.#models.set(name, { versions: new Map(), ready: new Map(), newest: undefined, failure });
  }

  setReady(name: string, version: string, ready: ReadyVersion): void {
    const model = this.#entry(name);
    model.versions.set(version, { state: 'READY', reason: '' });
    model.ready.set(version, ready);
    this.#sort(model);
  }

  setState(name: string, version: string, state: VersionState, reason = ''): void {
    const model = this.#entry(name);
    model.versions.set(version, { state, reason });
    model.ready.delete(version);
    this.#sort(model);
  }

  has(name: string): boolean {
    return this.#models.has(name);
  }

  /** Undefined for a version that is not known. */
  stateOf(name: string, version: string): ModelState | undefined {
    return this.#models.get(name)?.versions.get(version)?.state;
  }

  /** `''` for the newest version; undefined when there is none that is ready. */
  ready(name: string, version: string): ReadyVersion | undefined {
    const model = this.#models.get(name);
    return version === '' ? model?.newest : model?.ready.get(version);
  }

  /** Versions of one model that are ready, ascending. */
  readyVersions(name: string): readonly ReadyVersion[] {
    return [...(this.#models.get(name)?.ready.values() ?? [])];
  }

  /** All versions that are ready, by name and number. */
  allReady(): readonly ReadyVersion[] {
    return [...this.#models.keys()].toSorted().flatMap((name) => this.readyVersions(name));
  }

  /** Whether every model has versions, and each is READY and answers or has been unloaded on purpose. */
  isWhole(): boolean {
    for (const { versions, ready } of this.#models.values()) {
      if (versions.size === 0) return false;
      for (const { state, reason } of versions.values()) {
        if (state !== 'READY' && !(state === 'UNAVAILABLE' && reason === unloaded)) return false;
      }
      for (const { running } of ready.values()) if (!running.isReady()) return false;
    }
    return true;
  }

  /** By name and number. */
  index(): readonly ModelIndexEntry[] {
    const byName = [...this.#models].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return byName.flatMap(([name, { versions, failure }]): readonly ModelIndexEntry[] => {
      if (versions.size > 0) {
        return [...versions].map(([version, { state, reason }]) => ({ name, version, state, ...(reason === '' ? {} : { reason }) }));
      }
      return [failure === '' ? { name } : { name, state: 'UNAVAILABLE', reason: failure }];
    });
  }

  #entry(name: string): ModelEntry {
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    this.add(name);
    return this.#entry(name);
  }

  #sort(model: ModelEntry): void {
    const versions = [...model.versions].toSorted(byNumber);
    const ready = [...model.ready].toSorted(byNumber);
    model.versions.clear();
    model.ready.clear();
    for (const [version, entry] of versions) model.versions.set(version, entry);
    for (const [version, entry] of ready) model.ready.set(version, entry);
    model.newest = ready.at(-1)?.[1];
  }
}
