import { createClient, RESP_TYPES } from '@redis/client';
import { Subscription } from 'rxjs';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { RedisSettings } from './redis-settings.ts';

export interface RedisConnectionConfig {
  readonly settings: RedisSettings;
  /** Redis answers. */
  readonly onUp: () => void;
  /** It does not, or no more; called again for every attempt that fails. */
  readonly onDown: (why: Error) => void;
}

/** Commands of one connection without an answer; the next one is refused. */
const mostCommands = 1024;

/** From the connection to the first answer. After that another one is tried. */
const greetingMs = 10_000;

const longestPauseMs = 2000;
const pauseMs = (retries: number): number => Math.min(longestPauseMs, 50 * 2 ** Math.min(retries, 10));

const createRedis = ({ host, port, username, password, database, connectTimeoutMs, tls }: RedisSettings) =>
  createClient({
    RESP: 2,
    database,
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    socket: {
      host,
      port,
      connectTimeout: connectTimeoutMs,
      reconnectStrategy: pauseMs,
      ...(tls === undefined
        ? {}
        : {
            tls: true,
            ...(tls.cert === undefined ? {} : { cert: tls.cert }),
            ...(tls.key === undefined ? {} : { key: tls.key }),
            ...(tls.ca === undefined ? {} : { ca: [...tls.ca] }),
            ...(tls.servername === undefined ? {} : { servername: tls.servername }),
          }),
    },
    disableOfflineQueue: true,
    commandsQueueMaxLength: mostCommands,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
  });

type Redis = ReturnType<typeof createRedis>;

/** The shorter of two limits, where 0 is none. */
const shorterMs = (a: number, b: number): number => (a === 0 || b === 0 ? Math.max(a, b) : Math.min(a, b));

/**
 * One connection to Redis, which comes back by itself. It is up once Redis has answered, and not before: a server that hangs still takes connections. A
 * command that has no answer in time fails, with all others of the connection, and another one is opened.
 */
export class RedisConnection {
  readonly #config: RedisConnectionConfig;
  readonly #timeoutMs: number;
  #redis: Redis;
  #greeting = Subscription.EMPTY;
  #isUp = false;
  #isClosed = false;

  constructor(config: RedisConnectionConfig) {
    this.#config = config;
    this.#timeoutMs = shorterMs(config.settings.waitTimeoutMs, config.settings.socketTimeoutMs);
    this.#redis = this.#open();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Rejects when Redis refuses it, does not answer in time, or is lost. */
  async send<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = this.#redis;
    if (this.#timeoutMs === 0) return command(redis);
    const timer = machineScheduler.schedule(() => this.#lose(redis, this.#timeoutMs), this.#timeoutMs);
    try {
      return await command(redis);
    } finally {
      timer.unsubscribe();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#isUp = false;
    this.#greeting.unsubscribe();
    this.#redis.destroy();
  }

  #open(): Redis {
    const redis = createRedis(this.#config.settings);
    redis.on('connect', () => this.#expectGreeting(redis));
    redis.on('ready', () => this.#greet(redis));
    redis.on('error', (error: Error) => this.#onDown(redis, error));
    // What it rejects with has been told by an event.
    redis.connect().catch(() => {});
    return redis;
  }

  #expectGreeting(redis: Redis): void {
    this.#greeting.unsubscribe();
    this.#greeting = machineScheduler.schedule(() => this.#lose(redis, greetingMs), greetingMs);
  }

  #greet(redis: Redis): void {
    redis.ping().then(
      () => {
        if (redis !== this.#redis || this.#isClosed) return;
        this.#greeting.unsubscribe();
        this.#isUp = true;
        this.#config.onUp();
      },
      (error: Error) => this.#onDown(redis, error),
    );
  }

  #onDown(redis: Redis, error: Error): void {
    if (redis !== this.#redis || this.#isClosed) return;
    this.#greeting.unsubscribe();
    this.#isUp = false;
    this.#config.onDown(error);
  }

  #lose(redis: Redis, afterMs: number): void {
    if (redis !== this.#redis || this.#isClosed) return;
    this.#onDown(redis, new Error(`no answer within ${afterMs} ms`));
    this.#redis = this.#open();
    redis.destroy();
  }
}
