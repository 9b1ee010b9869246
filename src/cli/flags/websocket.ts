import { built, type Flag } from '../flag.ts';
import { readInteger } from '../flag-values.ts';
import { UsageError } from '../usage-error.ts';

const group = 'WebSocket';

/** As browsers write it: `scheme://host` with the port unless it is the scheme's own, nothing behind; `null` for a sandboxed page. */
const originForm = /^(\*|null|[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+)$/;

const readOrigin = (value: string): string => {
  if (originForm.test(value)) return value;
  throw new UsageError(`--ws-allowed-origin option format is <scheme>://<host>[:<port>] or *. Got ${value}`);
};

export const webSocketFlags: readonly Flag[] = [
  built({
    name: 'ws-max-inflight',
    group,
    argument: 'integer',
    default: '64',
    description: "Weir's own. Unanswered requests of one connection; with so many its socket is not read.",
    apply: (value, settings) => {
      settings.webSocket.maxInflight = readInteger(value, { min: 1, max: 1_000_000 });
    },
  }),
  built({
    name: 'ws-ping-interval',
    group,
    argument: 'integer',
    default: '20',
    description: "Weir's own. Seconds between two pings; a connection that has not answered the last one is ended.",
    apply: (value, settings) => {
      settings.webSocket.pingIntervalMs = readInteger(value, { min: 1, max: 86_400 }) * 1000;
    },
  }),
  built({
    name: 'ws-max-message-bytes',
    group,
    argument: 'integer',
    default: '',
    description: "Weir's own. Largest message, in bytes; --http-max-input-size unless given.",
    apply: (value, settings) => {
      settings.webSocket.maxMessageBytes = readInteger(value, { min: 1, max: 2 ** 31 - 1 });
    },
  }),
  built({
    name: 'ws-allowed-origin',
    group,
    argument: '<origin>',
    default: '',
    repeatable: true,
    description: "Weir's own. An origin whose pages may connect, besides the server's own host: `https://app.example`; `*` for all.",
    apply: (value, settings) => {
      settings.webSocket.allowedOrigins.push(readOrigin(value));
    },
  }),
];
