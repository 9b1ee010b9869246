import { checkCacheSettings } from './cache-settings.ts';
import {
  type CacheSettings,
  defaultSettings,
  type GrpcSettings,
  type HttpSettings,
  type LogSettings,
  type MetricsSettings,
  type ModelSettings,
  type ServerSettings,
  type WebSocketSettings,
} from './settings.ts';

/** What a program starts a server with. What is left out is as the command has it, except where a field says otherwise. */
export interface ServerOptions {
  /** One directory of models, or several. */
  readonly modelRepository: string | readonly string[];
  readonly id?: string;
  readonly exitTimeoutSeconds?: number;
  readonly models?: Partial<Omit<ModelSettings, 'repositories'>>;
  /** Warnings and errors to stderr unless it says more. */
  readonly log?: Partial<LogSettings>;
  /** Left out, no port is opened for it; `{}` for the command's own port. Port 0 for any that is free. */
  readonly http?: Partial<Omit<HttpSettings, 'allow'>>;
  /** As `http`. */
  readonly grpc?: Partial<Omit<GrpcSettings, 'allow'>>;
  /** On the port of HTTP. */
  readonly webSocket?: Partial<WebSocketSettings>;
  /** As `http`. */
  readonly metrics?: Partial<Omit<MetricsSettings, 'allow'>>;
  /** Where answers of models with `response_cache` are kept; nowhere unless given. */
  readonly cache?: CacheOptions;
  /** Ends a start that is under way. It does not close a server that has started. */
  readonly signal?: AbortSignal;
}

/** As `--cache-config`: `{ name: 'local', size: 1048576 }`. */
export interface CacheOptions {
  readonly name: string;
  readonly [setting: string]: string | number | boolean;
}

/** @throws InferError INVALID_ARGUMENT */
const cacheOf = ({ name, ...settings }: CacheOptions): CacheSettings => {
  const cache = { name, settings: new Map(Object.entries(settings).map(([key, value]) => [key, String(value)])) };
  checkCacheSettings(cache);
  return cache;
};

/** The settings that the options stand for. @throws InferError INVALID_ARGUMENT for a cache that there is not */
export const settingsOf = (options: ServerOptions): ServerSettings => {
  const defaults = defaultSettings();
  const { modelRepository, http, grpc, metrics } = options;
  return {
    id: options.id ?? defaults.id,
    exitTimeoutSeconds: options.exitTimeoutSeconds ?? defaults.exitTimeoutSeconds,
    log: { ...defaults.log, info: false, ...options.log },
    models: {
      ...defaults.models,
      ...options.models,
      repositories: typeof modelRepository === 'string' ? [modelRepository] : modelRepository,
    },
    http: { ...defaults.http, ...http, allow: http !== undefined },
    grpc: { ...defaults.grpc, ...grpc, allow: grpc !== undefined },
    webSocket: { ...defaults.webSocket, ...options.webSocket },
    metrics: { ...defaults.metrics, ...metrics, allow: metrics !== undefined },
    cache: options.cache === undefined ? defaults.cache : cacheOf(options.cache),
  };
};
