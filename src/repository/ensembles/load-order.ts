/** An ensemble, and the models of its steps. */
export interface EnsembleLinks {
  readonly name: string;
  readonly uses: readonly string[];
}

export interface LoadOrder {
  /** Names: each ensemble behind those that it uses. */
  readonly waves: readonly (readonly string[])[];
  /** By name: why an ensemble can never be loaded. It is in no wave. */
  readonly circular: ReadonlyMap<string, string>;
}

/** In what order ensembles load, which may use each other. */
export const loadOrder = (ensembles: readonly EnsembleLinks[]): LoadOrder => {
  const links = new Map(ensembles.map(({ name, uses }) => [name, uses]));

  /** Every ensemble that this one uses, itself only if it is in a circle. */
  const reached = (name: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const waiting = [...(links.get(name) ?? [])];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (seen.has(next) || !links.has(next)) continue;
      seen.add(next);
      waiting.push(...(links.get(next) ?? []));
    }
    return seen;
  };

  const circular = new Map<string, string>();
  for (const { name, uses } of ensembles) {
    const back = uses.find((used) => used === name || reached(used).has(name));
    if (back === undefined || !reached(name).has(name)) continue;
    circular.set(name, `circular dependency between ensembles: ${name} -> ... -> ${back} -> ${name}`);
  }

  const waves: string[][] = [];
  const done = new Set(circular.keys());
  const left = new Set(ensembles.map(({ name }) => name).filter((name) => !done.has(name)));
  while (left.size > 0) {
    const wave = [...left].filter((name) => (links.get(name) ?? []).every((used) => !links.has(used) || done.has(used)));
    if (wave.length === 0) break;
    for (const name of wave) {
      left.delete(name);
      done.add(name);
    }
    waves.push(wave);
  }
  return { waves, circular };
};
