import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface RedisSettings {
  readonly host: string;
  readonly port: number;
  /** `''` for none, here and below. */
  readonly username: string;
  readonly password: string;
  readonly database: number;
  /** Milliseconds; 0 for no limit, here and below. */
  readonly connectTimeoutMs: number;
  /** Of one answer of Redis. */
  readonly socketTimeoutMs: number;
  /** How long a request waits for Redis at most. */
  readonly waitTimeoutMs: number;
  readonly poolSize: number;
  /** Undefined for plain TCP. */
  readonly tls: RedisTls | undefined;
}

export interface RedisTls {
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  /** Undefined for the authorities that Node trusts. */
  readonly ca: readonly Buffer[] | undefined;
  /** The name that the server's certificate has to be for; undefined for the host. */
  readonly servername: string | undefined;
}

type Settings = ReadonlyMap<string, string>;
type Environment = Readonly<Record<string, string | undefined>>;

const noAddress =
  "Failed to initialize RedisCache, didn't specify address. Must at a minimum specify 'host' and 'port' in the configuration - e.g. " +
  'tritonserver --cache-config redis,host=redis --cache-config redis,port=6379 --model-repository=/models ...';

const tlsNames = ['cert', 'key', 'cacert', 'cacert_dir', 'sni'];
/** What a setting's value should have been. */
const wanted = (name: string, wish: string, got: string): Error =>
  new Error(`Failed to initialize RedisCache: setting '${name}' wants ${wish}, got '${got}'`);

const readInteger = (settings: Settings, name: string, usual: number, [least, most]: readonly [number, number]): number => {
  const text = settings.get(name);
  if (text === undefined) return usual;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw wanted(name, `an integer from ${least} to ${most}`, text);
};

const readSwitch = (settings: Settings, name: string): boolean => {
  const text = settings.get(name) ?? 'false';
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw wanted(name, 'true or false', text);
};

const readBytes = (name: string, path: string): Buffer => {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`Failed to initialize RedisCache: unable to read '${path}' of setting '${name}'`, { cause });
  }
};

const authorities = (path: string | undefined, directory: string | undefined): readonly Buffer[] | undefined => {
  if (path === undefined && directory === undefined) return undefined;
  const file = path === undefined ? [] : [readBytes('cacert', path)];
  if (directory === undefined) return file;
  try {
    const entries = readdirSync(directory, { withFileTypes: true }).filter((entry) => !entry.isDirectory());
    return [...file, ...entries.map(({ name }) => readFileSync(join(directory, name)))];
  } catch (cause) {
    throw new Error(`Failed to initialize RedisCache: unable to read directory '${directory}' of setting 'cacert_dir'`, { cause });
  }
};

const readTls = (settings: Settings): RedisTls | undefined => {
  if (!readSwitch(settings, 'tls_enabled')) return undefined;
  const [cert, key] = (['cert', 'key'] as const).map((name) => {
    const path = settings.get(name);
    return path === undefined ? undefined : readBytes(name, path);
  });
  return { cert, key, ca: authorities(settings.get('cacert'), settings.get('cacert_dir')), servername: settings.get('sni') };
};

const longestMs = 2 ** 31 - 1;

/**
 * Settings of `--cache-config=redis,…`, whose names are Triton's. The name and password of the environment count where the settings have none.
 *
 * @throws Error that tells which setting is missing or wrong
 */
export const readRedisSettings = (settings: Settings, environment: Environment): RedisSettings => {
  const host = settings.get('host') ?? '';
  if (host === '' || !settings.has('port')) throw new Error(noAddress);
  return {
    host,
    port: readInteger(settings, 'port', 0, [1, 65535]),
    username: settings.get('user') ?? environment.TRITONCACHE_REDIS_USERNAME ?? '',
    password: settings.get('password') ?? environment.TRITONCACHE_REDIS_PASSWORD ?? '',
    database: readInteger(settings, 'db', 0, [0, 65535]),
    connectTimeoutMs: readInteger(settings, 'connect_timeout', 0, [0, longestMs]),
    socketTimeoutMs: readInteger(settings, 'socket_timeout', 0, [0, longestMs]),
    waitTimeoutMs: readInteger(settings, 'wait_timeout', 1000, [0, longestMs]),
    poolSize: readInteger(settings, 'pool_size', 1, [1, 1024]),
    tls: readTls(settings),
  };
};

/** Settings of TLS that count for nothing, since it is not turned on. */
export const unusedTlsSettings = (settings: Settings): readonly string[] =>
  readSwitch(settings, 'tls_enabled') ? [] : tlsNames.filter((name) => settings.has(name));
