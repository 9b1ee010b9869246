import type { Draft, ServerSettings } from '../../server/settings.ts';
import { built, type Flag } from '../flag.ts';
import { readCount } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const group = 'Rate Limiter';

const setMode = (value: string, { models }: Draft<ServerSettings>): void => {
  const mode = value.toLowerCase();
  if (mode !== 'off' && mode !== 'execution_count') throw new UsageError('invalid argument for --rate-limit');
  models.rateLimit.mode = mode;
};

const addResource = (value: string, { models }: Draft<ServerSettings>): void => {
  const [name = '', count, device, ...rest] = value.split(':');
  if (name === '' || count === undefined || rest.length > 0) {
    throw new UsageError(
      `--rate-limit-resource option format is '<resource_name>:<count>:<device>' or '<resource_name>:<count>'. Got ${value}`,
    );
  }
  models.rateLimit.resources.push({ name, count: readCount(count), device: device === undefined ? undefined : readCount(device) });
};

export const rateLimiterFlags: readonly Flag[] = [
  built({
    name: 'rate-limit',
    group,
    argument: 'string',
    default: 'off',
    description:
      '`execution_count`: instances take turns by how often they ran and their `rate_limiter.priority`, and run only while their resources are free. `off`: they run whenever they are free.',
    apply: setMode,
  }),
  built({
    name: 'rate-limit-resource',
    group,
    argument: '<string>:<integer>:<integer>',
    default: '',
    repeatable: true,
    description:
      'How much there is of a resource, `<name>:<count>`, or on one device, `<name>:<count>:<device>`. Given once, resources that are not named are not there; else each is as much as one instance takes at most.',
    apply: addResource,
  }),
];
