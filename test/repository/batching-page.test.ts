import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { prepare } from './support/prepare.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/batching.md'), 'utf8');

const blocks = (language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(([, text = '']) => text);

const usual = 'input { name: "X" data_type: TYPE_FP32 dims: 4 } output { name: "Y" data_type: TYPE_FP32 dims: 4 }\n';

const files = {
  '1/': '',
  'batchstrategy.mjs': blocks('js').join('\n'),
  'initial_state/past.bin': new Uint8Array(8),
  'warmup/x.bin': new Uint8Array(16),
};

it('has fragments to load', () => {
  expect(blocks('protobuf').length).toBeGreaterThan(12);
  expect(blocks('js')).toHaveLength(1);
});

it.each(blocks('protobuf'))('loads what docs/batching.md shows: %s', async (fragment) => {
  const backend = fragment.includes('batch_output') ? 'gatherer' : 'identity';
  const config = `backend: "${backend}"\n${/^input/m.test(fragment) ? '' : usual}${fragment}`;
  const { spec, strategy, warnings } = await prepare({ config, files });
  expect(warnings).toEqual([]);
  expect(spec.maxBatchSize).toBe(8);
  expect(strategy !== undefined).toBe(spec.dynamicBatching !== undefined);
});
