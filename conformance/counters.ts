import { askHttp } from './ask-http.ts';
import type { Target } from './servers.ts';
import { standingOf } from './standing.ts';

type Plain = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Plain => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Of statistics, what counts; times are left out, and so is a name that has no number behind it. */
const countsOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(countsOf);
  if (!isRecord(value)) return value;
  if ('count' in value && 'ns' in value) return value.count;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'last_inference' && key !== 'memory_usage')
      .map(([key, inner]) => [key, countsOf(inner)]),
  );
};

const bodyOf = async (port: number, method: string, path: string): Promise<unknown> => {
  const { body } = await askHttp({ kind: 'http', name: path, method, path }, port);
  return body;
};

const statisticsOf = async ({ httpPort }: Target, model: string): Promise<unknown> => {
  const body = await bodyOf(httpPort, 'GET', `/v2/models/${model}/stats`);
  return isRecord(body) ? countsOf(body.model_stats) : body;
};

const line = /^(nv_\w+)\{([^}]*)\} (\S+)$/;
const counted =
  /^nv_(inference_(request_success|request_failure|count|exec_count|pending_request_count)|cache_num_(hits|misses)_per_model)$/;

/** Of `/metrics`, the lines of one model: `nv_inference_request_failure reason="REJECTED"` and how many. */
const metricsOf = (page: string, model: string): Plain => {
  const rows = page.split('\n').flatMap((row) => {
    const [, name = '', labels = '', value = ''] = line.exec(row) ?? [];
    if (!counted.test(name) || !labels.includes(`model="${model}"`)) return [];
    const reason = /reason="[^"]*"/.exec(labels)?.[0];
    return [[reason === undefined ? name : `${name} ${reason}`, Number(value)] as const];
  });
  return Object.fromEntries(rows);
};

/** Where each model stands: whether it is ready or why not; of one that is, what its statistics and its metrics count. */
export const countersOf = async (target: Target, models: readonly string[]): Promise<Plain> => {
  const index = await bodyOf(target.httpPort, 'POST', '/v2/repository/index');
  const page = String(await bodyOf(target.metricsPort, 'GET', '/metrics'));
  const rows: (readonly [string, Plain])[] = [];
  for (const model of models) {
    const standing = standingOf(index, target.lines, model);
    const counters = standing.isReady ? { statistics: await statisticsOf(target, model), metrics: metricsOf(page, model) } : {};
    rows.push([model, { ...standing, ...counters }]);
  }
  return Object.fromEntries(rows);
};
