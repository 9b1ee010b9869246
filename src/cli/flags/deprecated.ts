import { built, type Flag, notBuilt } from '../flag.ts';
import { readBoolean, readCount } from '../flag-values.ts';

const group = 'DEPRECATED';

export const deprecatedFlags: readonly Flag[] = [
  built({
    name: 'strict-model-config',
    group,
    argument: 'boolean',
    default: 'false',
    description: 'true is --disable-auto-complete-config.',
    apply: (value, settings) => {
      // Given both ways, the newer flag wins whatever their order: see parse-command-line.
      settings.models.autoCompleteConfig = !readBoolean(value);
    },
  }),
  built({
    name: 'response-cache-byte-size',
    group,
    argument: 'integer',
    default: '0',
    description: '--cache-config=local,size=<integer>; 0 for no cache.',
    apply: (value, settings) => {
      const size = readCount(value);
      settings.cache = size === 0 ? undefined : { name: 'local', settings: new Map([['size', String(size)]]) };
    },
  }),
  notBuilt({ name: 'trace-file', group, argument: 'string', default: '', description: '--trace-config=triton,file=<string>.' }),
  notBuilt({
    name: 'trace-level',
    group,
    argument: 'string',
    default: 'OFF',
    accepted: ['OFF', 'off', 'false', 'FALSE'],
    repeatable: true,
    description: '--trace-config=level=<string>.',
  }),
  notBuilt({ name: 'trace-rate', group, argument: 'integer', default: '1000', description: '--trace-config=rate=<integer>.' }),
  notBuilt({ name: 'trace-count', group, argument: 'integer', default: '-1', description: '--trace-config=count=<integer>.' }),
  notBuilt({
    name: 'trace-log-frequency',
    group,
    argument: 'integer',
    default: '0',
    description: '--trace-config=triton,log-frequency=<integer>.',
  }),
];
