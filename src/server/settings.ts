import { schedulerHolds } from './scheduler-holds.ts';

/** Everything that a server is started with, complete. Numbers of a name ending in Ms are milliseconds, in Bytes bytes. */
export interface ServerSettings {
  /** The name in the server's metadata. */
  readonly id: string;
  /** One budget for the whole shutdown. */
  readonly exitTimeoutSeconds: number;
  readonly log: LogSettings;
  readonly models: ModelSettings;
  readonly http: HttpSettings;
  readonly grpc: GrpcSettings;
  readonly webSocket: WebSocketSettings;
  readonly metrics: MetricsSettings;
  /** Where answers of models are kept; undefined for nowhere. */
  readonly cache: CacheSettings | undefined;
}

export interface LogSettings {
  readonly error: boolean;
  readonly warning: boolean;
  readonly info: boolean;
  /** Messages up to this level are written; 0 for none of them. */
  readonly verbose: number;
  readonly format: 'default' | 'ISO8601';
  /** `''` for the console: warnings and errors on stderr, the rest on stdout. */
  readonly file: string;
}

export interface ModelSettings {
  readonly repositories: readonly string[];
  /** Whether a model that fails to load ends the start. */
  readonly exitOnError: boolean;
  /** Whether the server is ready only while every model is. */
  readonly strictReadiness: boolean;
  readonly autoCompleteConfig: boolean;
  readonly loadThreadCount: number;
  /** Bound of a model's waiting requests where its config has none. */
  readonly defaultMaxQueueSize: number;
  readonly backendConfig: readonly BackendSetting[];
  readonly rateLimit: RateLimitSettings;
  /** For tests: the first batch of each model waits until so many requests do; 0 for none, here and below. */
  readonly holdUntilQueued: number;
  /** For tests: the same, and so many requests in the backlog. */
  readonly holdUntilBacklogged: number;
}

export interface RateLimitSettings {
  /** `off`: resources and priorities of instances count for nothing. */
  readonly mode: 'off' | 'execution_count';
  /** Empty: of each resource as much as the instance that takes most of it. Else what is not in it is not there. */
  readonly resources: readonly ResourceLimit[];
}

export interface ResourceLimit {
  readonly name: string;
  readonly count: number;
  /** Undefined for every device. */
  readonly device: number | undefined;
}

export interface CacheSettings {
  /** `local` or `redis`. */
  readonly name: string;
  readonly settings: ReadonlyMap<string, string>;
}

export interface BackendSetting {
  /** `''` for every backend. */
  readonly backend: string;
  readonly key: string;
  readonly value: string;
}

export interface HttpSettings {
  readonly allow: boolean;
  readonly address: string;
  readonly port: number;
  readonly reusePort: boolean;
  /** Regular expression (RE2), sought in header names in any case; `''` for none. */
  readonly headerForwardPattern: string;
  readonly maxInputBytes: number;
}

export interface GrpcSettings {
  readonly allow: boolean;
  readonly address: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly headerForwardPattern: string;
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  /** 0 for no limit, here and below. */
  readonly maxConnectionAgeMs: number;
  readonly maxConnectionAgeGraceMs: number;
}

export interface WebSocketSettings {
  /** Requests in flight on one connection before its socket is paused. */
  readonly maxInflight: number;
  readonly pingIntervalMs: number;
  /** 0 for the limit of HTTP. */
  readonly maxMessageBytes: number;
  /** Origins, besides the server's own host, whose pages may connect; `*` for all. */
  readonly allowedOrigins: readonly string[];
}

export interface MetricsSettings {
  readonly allow: boolean;
  readonly allowCpu: boolean;
  /** `''` for the address of HTTP. */
  readonly address: string;
  readonly port: number;
  readonly intervalMs: number;
  readonly counterLatencies: boolean;
}

/** `T` while it is being filled in. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? Item[]
  : T extends ReadonlyMap<infer Key, infer Value>
    ? Map<Key, Value>
    : T extends object
      ? { -readonly [Key in keyof T]: Draft<T[Key]> }
      : T;

/** What the command does without a flag: Triton's defaults, and what the environment says. */
export const defaultSettings = (): Draft<ServerSettings> => ({
  id: 'triton',
  exitTimeoutSeconds: 30,
  log: { error: true, warning: true, info: true, verbose: 0, format: 'default', file: '' },
  models: {
    repositories: [],
    exitOnError: true,
    strictReadiness: true,
    autoCompleteConfig: true,
    loadThreadCount: 4,
    defaultMaxQueueSize: 16384,
    backendConfig: [],
    rateLimit: { mode: 'off', resources: [] },
    ...schedulerHolds(process.env),
  },
  http: { allow: true, address: '0.0.0.0', port: 8000, reusePort: false, headerForwardPattern: '', maxInputBytes: 67108864 },
  grpc: {
    allow: true,
    address: '0.0.0.0',
    port: 8001,
    reusePort: false,
    headerForwardPattern: '',
    keepaliveTimeMs: 7200000,
    keepaliveTimeoutMs: 20000,
    maxConnectionAgeMs: 0,
    maxConnectionAgeGraceMs: 0,
  },
  webSocket: { maxInflight: 64, pingIntervalMs: 20000, maxMessageBytes: 0, allowedOrigins: [] },
  metrics: { allow: true, allowCpu: true, address: '', port: 8002, intervalMs: 2000, counterLatencies: true },
  cache: undefined,
});
