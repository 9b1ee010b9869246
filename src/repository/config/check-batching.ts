import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ModelConfig } from './model-config.ts';

const checkPreferred = ({ name, max_batch_size }: ModelConfig, size: number, index: number): readonly Finding[] => {
  const field = `dynamic_batching.preferred_batch_size[${index}]`;
  const details = { wanted: `1 to ${max_batch_size}`, got: String(size) };
  if (size <= 0) return [fault(field, `dynamic batching preferred size must be positive for ${name}`, details)];
  if (size > max_batch_size) return [fault(field, `dynamic batching preferred size must be <= max batch size for ${name}`, details)];
  return [];
};

/** Faults of `max_batch_size` and `dynamic_batching`. */
export const checkBatching = (config: ModelConfig): readonly Finding[] => {
  const { name, max_batch_size, dynamic_batching: batching } = config;
  const findings: Finding[] = [];
  if (max_batch_size < 0) {
    const text = `'max_batch_size' must be non-negative value for ${name}`;
    findings.push(fault('max_batch_size', text, { wanted: '0 or more', got: String(max_batch_size) }));
  }
  if (batching === undefined) return findings;
  findings.push(...batching.preferred_batch_size.flatMap((size, index) => checkPreferred(config, size, index)));
  if (BigInt(batching.default_priority_level) !== 0n && BigInt(batching.priority_levels) === 0n) {
    const text = `'default_priority_level' has no effect for ${name}, which has no 'priority_levels'`;
    findings.push(warning('dynamic_batching.default_priority_level', text));
  }
  return findings;
};
