import { built, type Flag } from '../flag.ts';
import { readBoolean, readCount } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const readVerbose = (value: string): number => {
  const switched = /^(true|on|false|off)$/i.test(value);
  return switched ? Number(readBoolean(value)) : readCount(value);
};

export const loggingFlags: readonly Flag[] = [
  built({
    name: 'log-verbose',
    group: 'Logging',
    argument: 'integer',
    default: '0',
    description: 'Level up to which verbose messages are written; 0 for none. `true` is 1, `false` is 0.',
    apply: (value, settings) => {
      settings.log.verbose = readVerbose(value);
    },
  }),
  built({
    name: 'log-info',
    group: 'Logging',
    argument: 'boolean',
    default: 'true',
    description: 'Write info messages.',
    apply: (value, settings) => {
      settings.log.info = readBoolean(value);
    },
  }),
  built({
    name: 'log-warning',
    group: 'Logging',
    argument: 'boolean',
    default: 'true',
    description: 'Write warnings.',
    apply: (value, settings) => {
      settings.log.warning = readBoolean(value);
    },
  }),
  built({
    name: 'log-error',
    group: 'Logging',
    argument: 'boolean',
    default: 'true',
    description: 'Write errors.',
    apply: (value, settings) => {
      settings.log.error = readBoolean(value);
    },
  }),
  built({
    name: 'log-format',
    group: 'Logging',
    argument: 'string',
    default: 'default',
    description: 'How a line begins: `default` for `I0520 20:03:25.829575`, `ISO8601` for `2024-05-20T20:03:25Z I`.',
    apply: (value, settings) => {
      if (value !== 'default' && value !== 'ISO8601') throw new UsageError('invalid argument for --log-format');
      settings.log.format = value;
    },
  }),
  built({
    name: 'log-file',
    group: 'Logging',
    argument: 'string',
    default: '',
    description: 'Write the log to this file instead of the console.',
    apply: (value, settings) => {
      settings.log.file = value;
    },
  }),
];
