import type { CacheKey, ResponseCache } from './response-cache.ts';

/** Why answers of so many bytes are not kept; Triton's text. */
export const notInserted = (key: CacheKey, bytes: number, { largestEntryBytes }: Pick<ResponseCache, 'largestEntryBytes'>): string =>
  `Failed to insert key [${key.digest}] into response cache: ` +
  `Requested byte_size: ${bytes} is greater than total cache size: ${largestEntryBytes}`;
