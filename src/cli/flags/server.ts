import { built, type Flag } from '../flag.ts';
import { readInteger } from '../flag-values.ts';

export const serverFlags: readonly Flag[] = [
  built({
    name: 'id',
    group: 'Server',
    argument: 'string',
    default: 'triton',
    description: "Identifier for this server: `name` in the server's metadata.",
    apply: (value, settings) => {
      settings.id = value;
    },
  }),
  built({
    name: 'exit-timeout-secs',
    group: 'Server',
    argument: 'integer',
    default: '30',
    description:
      'Seconds that the whole shutdown may take, work in flight included; then the process ends with status 1. Negative counts as 0.',
    apply: (value, settings) => {
      settings.exitTimeoutSeconds = Math.max(0, readInteger(value));
    },
  }),
];
