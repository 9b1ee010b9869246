import { pythonSettingNames } from '../backends/python/python-settings.ts';
import { InferError } from '../streams/inference/error.ts';
import type { BackendSetting } from './settings.ts';

/** Settings that every backend understands, and those of each one by its name. */
const knownSettings: ReadonlyMap<string, readonly string[]> = new Map([
  ['identity', ['default-max-batch-size']],
  ['javascript', ['default-max-batch-size']],
  ['python', pythonSettingNames],
  ['onnxruntime', ['default-max-batch-size', 'intra_op_thread_count', 'inter_op_thread_count', 'enable-global-threadpool']],
]);

export const backendNames: readonly string[] = [...knownSettings.keys()];

/** What one backend is told: its own settings before those for all. */
export const settingsOfBackend = (settings: readonly BackendSetting[], name: string): ReadonlyMap<string, string> => {
  const known = knownSettings.get(name) ?? [];
  const asked = [...settings.filter(({ backend }) => backend === ''), ...settings.filter(({ backend }) => backend === name)];
  return new Map(asked.filter(({ key }) => known.includes(key)).map(({ key, value }) => [key, value]));
};

/** Settings that nothing reads. */
export const unreadSettings = (settings: readonly BackendSetting[]): readonly string[] =>
  settings.flatMap(({ backend, key, value }) => {
    const readers = backend === '' ? backendNames : [backend];
    if (readers.some((name) => knownSettings.get(name)?.includes(key))) return [];
    const given = `--backend-config=${backend === '' ? '' : `${backend},`}${key}=${value}`;
    const reason = knownSettings.has(backend) || backend === '' ? `there is no setting '${key}'` : `there is no backend '${backend}'`;
    return [`${given} has no effect: ${reason}`];
  });

const tritonsDefault = 4;

/**
 * Rows for a model that can batch and does not say how many; 0 for none.
 *
 * @throws InferError INVALID_ARGUMENT
 */
export const defaultMaxBatchSize = (settings: readonly BackendSetting[], name: string): number => {
  const given = settingsOfBackend(settings, name).get('default-max-batch-size');
  if (given === undefined) return tritonsDefault;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new InferError('INVALID_ARGUMENT', `failed to convert default-max-batch-size '${given}' to integral number`);
};
