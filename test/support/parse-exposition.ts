export interface Exposition {
  /** By the series as printed: `name{label="value"}`. */
  readonly values: ReadonlyMap<string, number>;
  readonly types: ReadonlyMap<string, string>;
}

const samplePattern = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})?) (\S+)$/;

/** Prometheus text 0.0.4, strictly: a series printed twice, or before its TYPE line, is an error. */
export const parseExposition = (text: string): Exposition => {
  const values = new Map<string, number>();
  const types = new Map<string, string>();
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (type?.[1] !== undefined && type[2] !== undefined) {
      types.set(type[1], type[2]);
      continue;
    }
    if (line === '' || line.startsWith('# HELP ')) continue;
    const sample = samplePattern.exec(line);
    const [, series, value] = sample ?? [];
    if (series === undefined || value === undefined) throw new Error(`not a line of Prometheus text: ${line}`);
    if (values.has(series)) throw new Error(`printed twice: ${series}`);
    const name = series.split('{', 1)[0] ?? '';
    const family = types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '');
    if (!types.has(family)) throw new Error(`no TYPE before ${series}`);
    values.set(series, Number(value));
  }
  return { values, types };
};
