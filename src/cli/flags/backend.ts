import type { Draft, ServerSettings } from '../../server/settings.ts';
import { built, type Flag, noEffect } from '../flag.ts';
import { splitOnce } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const group = 'Backend';

const addBackendSetting = (value: string, settings: Draft<ServerSettings>): void => {
  const format = () => new UsageError(`--backend-config option format is '<backend name>,<setting>=<value>'. Got ${value}`);
  const named = splitOnce(value, ',');
  const [backend, setting] = named ?? ['', value];
  if (named !== undefined && backend === '') throw format();
  const [key, of] = splitOnce(setting, '=') ?? ['', ''];
  if (key === '' || of === '') throw format();
  settings.models.backendConfig.push({ backend, key, value: of });
};

export const backendFlags: readonly Flag[] = [
  noEffect({
    name: 'backend-directory',
    group,
    argument: 'string',
    default: '/opt/tritonserver/backends',
    description: "Directory of backends' shared libraries.",
    reason: 'the backends are part of Weir',
    apply: () => undefined,
  }),
  built({
    name: 'backend-config',
    group,
    argument: '<string>,<string>=<string>',
    default: '',
    repeatable: true,
    description: 'A setting of a backend, `<backend>,<setting>=<value>`, or of all of them, `<setting>=<value>`.',
    apply: addBackendSetting,
  }),
];
