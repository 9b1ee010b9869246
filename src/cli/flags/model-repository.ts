import type { Draft, ServerSettings } from '../../server/settings.ts';
import { built, type Flag, noEffect, notBuilt } from '../flag.ts';
import { readBoolean, readCount, readInteger } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const group = 'Model Repository';

const addRepository = (value: string, settings: Draft<ServerSettings>): void => {
  const remote = /^(s3|gs|as):\/\//.exec(value);
  if (remote !== null) throw new UsageError(`repositories at ${remote[0]} are not built yet in Weir: give a local directory`);
  settings.models.repositories.push(value);
};

export const modelRepositoryFlags: readonly Flag[] = [
  built({
    name: 'model-repository',
    group,
    argument: 'string',
    default: '',
    repeatable: true,
    description: 'Directory of models to serve. May be given more than once; at least one is needed.',
    apply: addRepository,
  }),
  built({
    name: 'model-store',
    group,
    argument: 'string',
    default: '',
    repeatable: true,
    description: 'The same as --model-repository.',
    apply: addRepository,
  }),
  built({
    name: 'exit-on-error',
    group,
    argument: 'boolean',
    default: 'true',
    description: 'End the process with status 1, before a port opens, when a model fails to load.',
    apply: (value, settings) => {
      settings.models.exitOnError = readBoolean(value);
    },
  }),
  built({
    name: 'disable-auto-complete-config',
    group,
    argument: '',
    default: '',
    description: 'Complete no model configuration from the model itself: each config.pbtxt has to be whole.',
    apply: (_value, settings) => {
      settings.models.autoCompleteConfig = false;
    },
  }),
  built({
    name: 'strict-readiness',
    group,
    argument: 'boolean',
    default: 'true',
    description: 'The server is ready only while every model is. When false, it is ready while it answers.',
    apply: (value, settings) => {
      settings.models.strictReadiness = readBoolean(value);
    },
  }),
  notBuilt({
    name: 'model-control-mode',
    group,
    argument: 'string',
    default: 'none',
    accepted: ['none'],
    description:
      'How models come and go: `none` loads all at the start, `poll` follows the directory, `explicit` obeys the repository API.',
  }),
  noEffect({
    name: 'repository-poll-secs',
    group,
    argument: 'integer',
    default: '15',
    description: 'Seconds between two looks at the repository.',
    reason: 'it belongs to --model-control-mode=poll',
    apply: (value) => {
      readInteger(value);
    },
  }),
  notBuilt({
    name: 'load-model',
    group,
    argument: 'string',
    default: '',
    repeatable: true,
    description: 'Model to load at the start, with --model-control-mode=explicit.',
  }),
  notBuilt({
    name: 'model-config-name',
    group,
    argument: 'string',
    default: '',
    description: 'Use configs/<name>.pbtxt of a model instead of its config.pbtxt.',
  }),
  built({
    name: 'model-load-thread-count',
    group,
    argument: 'integer',
    default: '4',
    description: 'Models that are loaded at the same time; at least 1.',
    apply: (value, settings) => {
      settings.models.loadThreadCount = Math.max(1, readInteger(value));
    },
  }),
  notBuilt({
    name: 'model-load-retry-count',
    group,
    argument: 'integer',
    default: '0',
    accepted: ['0'],
    description: 'Times that a failed load is tried again.',
  }),
  notBuilt({
    name: 'model-namespacing',
    group,
    argument: 'boolean',
    default: 'false',
    accepted: ['false', 'off', '0'],
    description: 'Allow models of the same name in different repositories.',
  }),
  noEffect({
    name: 'enable-peer-access',
    group,
    argument: 'boolean',
    default: 'true',
    description: 'Let GPUs read each other.',
    reason: 'Weir moves no tensors between GPUs',
    apply: (value) => {
      readBoolean(value);
    },
  }),
  built({
    name: 'default-max-queue-size',
    group,
    argument: 'integer',
    default: '16384',
    description:
      "Weir's own. Requests that may wait for one model where its configuration sets no max_queue_size; the next one is refused with UNAVAILABLE.",
    apply: (value, settings) => {
      const size = readCount(value);
      if (size === 0) throw new UsageError('must be greater than 0: every queue is bounded');
      settings.models.defaultMaxQueueSize = size;
    },
  }),
];
