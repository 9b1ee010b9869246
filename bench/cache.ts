import { LocalCache } from '../src/caches/local/local-cache.ts';
import { cacheKeys } from '../src/operators/cache/cache-keys.ts';
import type { RequestKey } from '../src/operators/cache/request-key.ts';
import { bareRequest } from '../src/streams/inference/bare-request.ts';
import type { CachedAnswers } from '../src/streams/inference/response-cache.ts';
import { Tensor } from '../src/streams/tensors/tensor.ts';
import type { Bench } from './bench.ts';
import { echoSpec } from './graph/echo-spec.ts';
import { section, table } from './measure/markdown.ts';
import { median } from './measure/median.ts';

const operations = 20_000;
const fills = [1_000, 10_000, 100_000];

const log = { error: () => {}, warning: () => {}, info: () => {}, verbose: () => {} };
const keyOf = cacheKeys({ spec: echoSpec, contentId: '' });

/** A request for `size` bytes that no other number has. */
const keyFor = (n: number, size: number): RequestKey => {
  const bytes = Buffer.alloc(size);
  bytes.writeUInt32LE(n);
  const inputs = new Map(echoSpec.inputs.map(({ name, datatype }) => [name, new Tensor(datatype, [1, size / 4], bytes)]));
  const key = keyOf(bareRequest('', '', inputs));
  if (key === undefined) throw new Error('no key');
  return key;
};

const answers: CachedAnswers = [{ parameters: new Map(), outputs: new Map(), memory: Buffer.alloc(64) }];

const microseconds = (count: number, work: (n: number) => void): number => {
  const { user, system } = process.cpuUsage();
  for (let n = 0; n < count; n++) work(n);
  const used = process.cpuUsage();
  return (used.user + used.system - user - system) / count;
};

/** What looking up and inserting take in a full cache of so many entries, where each insertion lets one go. */
const measureFill = (entries: number): { readonly lookup: number; readonly insert: number } => {
  const first = new LocalCache({ sizeBytes: Number.MAX_SAFE_INTEGER, log });
  first.insert(keyFor(0, 64), answers);
  const entryBytes = first.fill().utilization * Number.MAX_SAFE_INTEGER;
  const cache = new LocalCache({ sizeBytes: Math.ceil(entryBytes * entries), log });
  for (let n = 0; n < 2 * entries; n++) cache.insert(keyFor(n, 64), answers);
  const known = Array.from({ length: operations }, (_, n) => keyFor(2 * entries - 1 - (n % Math.floor(entries / 2)), 64));
  const lookup = microseconds(operations, (n) => {
    const key = known[n];
    if (key !== undefined && cache.lookup(key) === undefined) throw new Error('an entry is missing');
  });
  const fresh = Array.from({ length: operations }, (_, n) => keyFor(2 * entries + n, 64));
  const insert = microseconds(operations, (n) => {
    const key = fresh[n];
    if (key !== undefined) cache.insert(key, answers);
  });
  return { lookup, insert };
};

/** The local cache at several fills, and keys of several sizes: processor time for each operation. */
export const cache: Bench = {
  isDefault: false,
  about: 'the response cache: keys, looking up, inserting',
  run: async ({ rounds = 5 }) => {
    const filled = fills.map((entries) => {
      const measured = Array.from({ length: rounds }, () => measureFill(entries));
      return [entries, median(measured.map(({ lookup }) => lookup)), median(measured.map(({ insert }) => insert))] as const;
    });
    const keys = [64, 4096, 65_536, 1_048_576, 4_000_000].map((size) => {
      const count = Math.max(5, Math.min(operations, Math.floor(50_000_000 / size)));
      return [size, median(Array.from({ length: rounds }, () => microseconds(count, (n) => keyFor(n, size))))] as const;
    });
    return {
      section: section(
        'The response cache',
        'cache',
        'In process, processor time in microseconds, medians. An insertion into the full cache lets the entry go that was not used for longest.',
        table(
          ['entries', 'look up', 'insert'],
          filled.map((row) => row.map((value, index) => (index === 0 ? `${value}` : value.toFixed(2)))),
        ),
        table(
          ['bytes of inputs', 'make and hash a key'],
          keys.map(([size, cost]) => [`${size}`, cost.toFixed(1)]),
        ),
      ),
      faults: [],
    };
  },
};
