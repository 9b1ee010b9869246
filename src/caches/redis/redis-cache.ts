import type { Log } from '../../streams/inference/log.ts';
import {
  type CachedAnswers,
  type CacheFill,
  type CacheKey,
  noCacheTally,
  type ResponseCache,
} from '../../streams/inference/response-cache.ts';
import { readFields, writeFields } from './answer-fields.ts';
import { RedisConnection } from './redis-connection.ts';
import type { RedisSettings } from './redis-settings.ts';

export interface RedisCacheConfig {
  readonly settings: RedisSettings;
  readonly log: Log;
}

const largestEntryBytes = 64 * 1024 * 1024;

/** Of entries that Redis has not confirmed; past it none is sent. */
const waitingBytesLimit = 64 * 1024 * 1024;

/** The version of what is written under it. */
const nameOf = ({ digest }: CacheKey): string => `weir:1:${digest}`;

/**
 * Answers in a Redis that servers share. While Redis is away nothing is found and nothing kept, at once, and one line of the log says so. What is kept has no
 * end of its own: Redis evicts by its own policy.
 */
export class RedisCache implements ResponseCache {
  readonly name = 'redis';
  readonly isShared = true;
  readonly largestEntryBytes = largestEntryBytes;
  readonly waitingBytesLimit = waitingBytesLimit;
  readonly tally = noCacheTally();
  readonly #config: RedisCacheConfig;
  readonly #connections: readonly RedisConnection[];
  #turn = 0;
  #waitingBytes = 0;
  #isAway = false;
  #saidFault = false;

  constructor(config: RedisCacheConfig) {
    this.#config = config;
    this.#connections = Array.from(
      { length: config.settings.poolSize },
      () => new RedisConnection({ settings: config.settings, onUp: () => this.#onUp(), onDown: (why) => this.#onDown(why) }),
    );
  }

  /** Whether every connection is up. */
  get isUp(): boolean {
    return this.#connections.every((connection) => connection.isUp);
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  lookup(key: CacheKey): Promise<CachedAnswers | undefined> | undefined {
    const connection = this.#next();
    return connection === undefined ? undefined : this.#fetch(connection, key);
  }

  insert(key: CacheKey, answers: CachedAnswers): Promise<void> | undefined {
    const connection = this.#next();
    const bytes = answers.reduce((sum, { memory }) => sum + memory.byteLength, key.head.length + key.inputBytes);
    if (connection === undefined || this.#waitingBytes + bytes > waitingBytesLimit) return undefined;
    return this.#keep(connection, key, answers, bytes);
  }

  fill(): CacheFill | undefined {
    return undefined;
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
  }

  async #fetch(connection: RedisConnection, key: CacheKey): Promise<CachedAnswers | undefined> {
    try {
      return readFields(await connection.send((redis) => redis.hGetAll(nameOf(key))), key);
    } catch (error) {
      this.#onFault(connection, error);
      return undefined;
    }
  }

  async #keep(connection: RedisConnection, key: CacheKey, answers: CachedAnswers, bytes: number): Promise<void> {
    // Before anything is awaited: the key reads the request where it lies.
    const fields = writeFields(key, answers);
    this.#waitingBytes += bytes;
    try {
      await connection.send((redis) => redis.hSet(nameOf(key), fields));
    } catch (error) {
      this.#onFault(connection, error);
    } finally {
      this.#waitingBytes -= bytes;
    }
  }

  /** One that is up, each in its turn. */
  #next(): RedisConnection | undefined {
    for (let tried = 0; tried < this.#connections.length; tried++) {
      this.#turn = (this.#turn + 1) % this.#connections.length;
      const connection = this.#connections[this.#turn];
      if (connection?.isUp) return connection;
    }
    return undefined;
  }

  #onUp(): void {
    if (!this.isUp) return;
    this.#isAway = false;
    this.#saidFault = false;
    this.#config.log.verbose(1, `connected to the redis cache at ${this.#address()}`);
  }

  #onDown(why: Error): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#config.log.warning(`the redis cache at ${this.#address()} is away, and requests run without it: ${whatOf(why)}`);
  }

  /** Of a connection that is still up: Redis refused the command, or holds something else. */
  #onFault(connection: RedisConnection, error: unknown): void {
    if (!connection.isUp || this.#saidFault) return;
    this.#saidFault = true;
    this.#config.log.warning(`the redis cache at ${this.#address()} failed: ${error instanceof Error ? whatOf(error) : String(error)}`);
  }

  #address(): string {
    return `${this.#config.settings.host}:${this.#config.settings.port}`;
  }
}

/** An error over several addresses has none of its own. */
const whatOf = (error: Error): string => {
  if (error.message !== '') return error.message;
  return error instanceof AggregateError ? error.errors.map(String).join(', ') : error.name;
};
