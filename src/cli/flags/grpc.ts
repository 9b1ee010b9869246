import { built, type Flag, noEffect, notBuilt } from '../flag.ts';
import { readBoolean, readCount, readInteger, readPort } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const group = 'GRPC';

const checkInferThreadCount = (value: string): void => {
  const count = readInteger(value);
  if (count < 2 || count > 128) throw new UsageError('invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128.');
};

const listening: readonly Flag[] = [
  built({
    name: 'allow-grpc',
    group,
    argument: 'boolean',
    default: 'true',
    description: 'Serve gRPC.',
    apply: (value, settings) => {
      settings.grpc.allow = readBoolean(value);
    },
  }),
  built({
    name: 'grpc-address',
    group,
    argument: 'string',
    default: '0.0.0.0',
    description: 'Address that gRPC listens at.',
    apply: (value, settings) => {
      settings.grpc.address = value;
    },
  }),
  built({
    name: 'grpc-port',
    group,
    argument: 'integer',
    default: '8001',
    description: 'Port that gRPC listens at; 0 for any free one.',
    apply: (value, settings) => {
      settings.grpc.port = readPort(value);
    },
  }),
  built({
    name: 'reuse-grpc-port',
    group,
    argument: 'boolean',
    default: 'false',
    description: 'Allow several servers at this port; the system spreads connections over them.',
    apply: (value, settings) => {
      settings.grpc.reusePort = readBoolean(value);
    },
  }),
  built({
    name: 'grpc-header-forward-pattern',
    group,
    argument: 'string',
    default: '',
    description: 'Regular expression (RE2): metadata in whose key it is found, in any case, become parameters of the request.',
    apply: (value, settings) => {
      settings.grpc.headerForwardPattern = value;
    },
  }),
];

const resources: readonly Flag[] = [
  noEffect({
    name: 'grpc-infer-thread-count',
    group,
    argument: 'integer',
    default: '2',
    description: 'Threads that serve inference calls, 2 to 128.',
    reason: 'one event loop serves all calls, and models run in threads of their own',
    apply: checkInferThreadCount,
  }),
  noEffect({
    name: 'grpc-infer-allocation-pool-size',
    group,
    argument: 'integer',
    default: '8',
    description: 'Request states that are kept for reuse.',
    reason: 'request states are not pooled',
    apply: (value) => {
      readInteger(value);
    },
  }),
  notBuilt({
    name: 'grpc-max-response-pool-size',
    group,
    argument: 'integer',
    default: '2147483647',
    accepted: ['2147483647'],
    description: 'Answers of one request that may wait to be sent.',
  }),
  notBuilt({
    name: 'grpc-infer-response-compression-level',
    group,
    argument: 'string',
    default: 'none',
    accepted: ['none'],
    description: 'Compression of answers: none, low, medium or high.',
  }),
];

const security: readonly Flag[] = [
  notBuilt({
    name: 'grpc-use-ssl',
    group,
    argument: 'boolean',
    default: 'false',
    accepted: ['false', 'off', '0'],
    description: 'Serve gRPC over TLS.',
  }),
  notBuilt({
    name: 'grpc-use-ssl-mutual',
    group,
    argument: 'boolean',
    default: 'false',
    accepted: ['false', 'off', '0'],
    description: 'Ask clients for a certificate, too.',
  }),
  notBuilt({ name: 'grpc-server-cert', group, argument: 'string', default: '', description: "PEM file of the server's certificate." }),
  notBuilt({ name: 'grpc-server-key', group, argument: 'string', default: '', description: "PEM file of the server's key." }),
  notBuilt({ name: 'grpc-root-cert', group, argument: 'string', default: '', description: 'PEM file of the root certificate.' }),
  notBuilt({
    name: 'grpc-restricted-protocol',
    group,
    argument: '<string>:<string>=<string>',
    default: '',
    repeatable: true,
    description: 'Calls that only callers with this metadata may make.',
  }),
];

const pingStrikes = 'clients may ping as often as they like';

const connections: readonly Flag[] = [
  built({
    name: 'grpc-keepalive-time',
    group,
    argument: 'integer',
    default: '7200000',
    description: 'Milliseconds of silence after which the server pings a client.',
    apply: (value, settings) => {
      settings.grpc.keepaliveTimeMs = readCount(value);
    },
  }),
  built({
    name: 'grpc-keepalive-timeout',
    group,
    argument: 'integer',
    default: '20000',
    description: 'Milliseconds that a client has to answer a ping before its connection is closed.',
    apply: (value, settings) => {
      settings.grpc.keepaliveTimeoutMs = readCount(value);
    },
  }),
  noEffect({
    name: 'grpc-keepalive-permit-without-calls',
    group,
    argument: 'boolean',
    default: 'false',
    description: 'Ping clients that have no call open.',
    reason: 'a client that is silent is pinged in any case',
    apply: (value) => {
      readBoolean(value);
    },
  }),
  noEffect({
    name: 'grpc-http2-max-pings-without-data',
    group,
    argument: 'integer',
    default: '2',
    description: 'Pings that may be sent without data in between; 0 for any number.',
    reason: 'silence is followed by a ping at each --grpc-keepalive-time',
    apply: (value) => {
      readInteger(value);
    },
  }),
  noEffect({
    name: 'grpc-http2-min-recv-ping-interval-without-data',
    group,
    argument: 'integer',
    default: '300000',
    description: 'Milliseconds between two pings of a client; faster ones are strikes.',
    reason: pingStrikes,
    apply: (value) => {
      readInteger(value);
    },
  }),
  noEffect({
    name: 'grpc-http2-max-ping-strikes',
    group,
    argument: 'integer',
    default: '2',
    description: 'Strikes after which a connection is closed; 0 for any number.',
    reason: pingStrikes,
    apply: (value) => {
      readInteger(value);
    },
  }),
  built({
    name: 'grpc-max-connection-age',
    group,
    argument: 'integer',
    default: '0',
    description: 'Milliseconds after which a connection is closed; 0 for no limit.',
    apply: (value, settings) => {
      settings.grpc.maxConnectionAgeMs = readCount(value);
    },
  }),
  built({
    name: 'grpc-max-connection-age-grace',
    group,
    argument: 'integer',
    default: '0',
    description: 'Milliseconds that calls have to end when their connection has reached its age; 0 for no limit.',
    apply: (value, settings) => {
      settings.grpc.maxConnectionAgeGraceMs = readCount(value);
    },
  }),
];

export const grpcFlags: readonly Flag[] = [...listening, ...resources, ...security, ...connections];
