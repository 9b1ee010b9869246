import { built, type Flag, noEffect, notBuilt } from '../flag.ts';
import { readBoolean, readInteger, readPort } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const group = 'HTTP';

export const httpFlags: readonly Flag[] = [
  built({
    name: 'allow-http',
    group,
    argument: 'boolean',
    default: 'true',
    description: 'Serve HTTP, and WebSocket with it.',
    apply: (value, settings) => {
      settings.http.allow = readBoolean(value);
    },
  }),
  built({
    name: 'http-address',
    group,
    argument: 'string',
    default: '0.0.0.0',
    description: 'Address that HTTP listens at.',
    apply: (value, settings) => {
      settings.http.address = value;
    },
  }),
  built({
    name: 'http-port',
    group,
    argument: 'integer',
    default: '8000',
    description: 'Port that HTTP listens at; 0 for any free one.',
    apply: (value, settings) => {
      settings.http.port = readPort(value);
    },
  }),
  built({
    name: 'reuse-http-port',
    group,
    argument: 'boolean',
    default: 'false',
    description: 'Allow several servers at this port; the system spreads connections over them.',
    apply: (value, settings) => {
      settings.http.reusePort = readBoolean(value);
    },
  }),
  built({
    name: 'http-header-forward-pattern',
    group,
    argument: 'string',
    default: '',
    description: 'Regular expression (RE2): headers in whose name it is found, in any case, become parameters of the request.',
    apply: (value, settings) => {
      settings.http.headerForwardPattern = value;
    },
  }),
  noEffect({
    name: 'http-thread-count',
    group,
    argument: 'integer',
    default: '8',
    description: 'Threads that serve HTTP.',
    reason: 'one event loop serves all connections, and models run in threads of their own',
    apply: (value) => {
      readInteger(value);
    },
  }),
  built({
    name: 'http-max-input-size',
    group,
    argument: 'integer',
    default: '67108864',
    description: 'Largest body of a request, in bytes.',
    apply: (value, settings) => {
      const size = readInteger(value, { min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
      if (size <= 0) throw new UsageError('Error: --http-max-input-size must be greater than 0.');
      settings.http.maxInputBytes = size;
    },
  }),
  notBuilt({
    name: 'http-restricted-api',
    group,
    argument: '<string>:<string>=<string>',
    default: '',
    repeatable: true,
    description: 'APIs that only callers with this header may use.',
  }),
];
