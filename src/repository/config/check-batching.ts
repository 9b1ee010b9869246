import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ConfigDynamicBatching, ConfigQueuePolicy, ModelConfig } from './model-config.ts';

const checkPreferred = ({ name, max_batch_size }: ModelConfig, size: number, index: number): readonly Finding[] => {
  const field = `dynamic_batching.preferred_batch_size[${index}]`;
  const details = { wanted: `1 to ${max_batch_size}`, got: String(size) };
  if (size <= 0) return [fault(field, `dynamic batching preferred size must be positive for ${name}`, details)];
  if (size > max_batch_size) return [fault(field, `dynamic batching preferred size must be <= max batch size for ${name}`, details)];
  return [];
};

/** What is set for levels that there are not. */
const checkNoLevels = (name: string, batching: ConfigDynamicBatching): readonly Finding[] => {
  const end = `has no effect for ${name}, which has no 'priority_levels'`;
  const findings: Finding[] = [];
  if (BigInt(batching.default_priority_level) !== 0n) {
    findings.push(warning('dynamic_batching.default_priority_level', `'default_priority_level' ${end}`));
  }
  if (Object.keys(batching.priority_queue_policy).length > 0) {
    findings.push(warning('dynamic_batching.priority_queue_policy', `'priority_queue_policy' ${end}`));
  }
  return findings;
};

const checkLevels = (name: string, batching: ConfigDynamicBatching): readonly Finding[] => {
  const levels = BigInt(batching.priority_levels);
  if (levels === 0n) return checkNoLevels(name, batching);
  const wanted = `1 to ${levels}`;
  const isLevel = (level: bigint): boolean => level >= 1n && level <= levels;
  const findings: Finding[] = [];
  const usual = BigInt(batching.default_priority_level);
  if (!isLevel(usual)) {
    const text = `default priority level must be in range [1, ${levels}] for ${name}`;
    findings.push(fault('dynamic_batching.default_priority_level', text, { wanted, got: String(usual) }));
  }
  for (const level of Object.keys(batching.priority_queue_policy)) {
    if (isLevel(BigInt(level))) continue;
    const text = `priority queue policy must have priority level in range [1, ${levels}] for ${name}`;
    findings.push(fault(`dynamic_batching.priority_queue_policy[${level}]`, text, { wanted, got: level }));
  }
  return findings;
};

const delays = (policy: ConfigQueuePolicy): boolean =>
  policy.timeout_action === 'DELAY' && BigInt(policy.default_timeout_microseconds) > 0n;

/** What cannot keep the order of the requests; what only looks so is a warning. */
const checkOrdering = (name: string, batching: ConfigDynamicBatching): readonly Finding[] => {
  if (!batching.preserve_ordering) return [];
  const findings: Finding[] = [];
  const levels = BigInt(batching.priority_levels);
  if (levels > 1n) {
    const text = `Only one priority level is allowed when 'preserve_ordering' is true for ${name}`;
    findings.push(fault('dynamic_batching.priority_levels', text, { wanted: '0 or 1', got: String(levels) }));
  }
  const { default_queue_policy: usual, priority_queue_policy: ofLevels } = batching;
  const policies: readonly (readonly [string, ConfigQueuePolicy])[] = [
    ...(usual === undefined ? [] : [['dynamic_batching.default_queue_policy', usual] as const]),
    ...Object.entries(ofLevels).map(([level, policy]) => [`dynamic_batching.priority_queue_policy[${level}]`, policy] as const),
  ];
  for (const [field, policy] of policies) {
    const action = `${field}.timeout_action`;
    if (delays(policy)) {
      const text = `Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${name}`;
      findings.push(fault(action, text, { wanted: 'REJECT', got: 'DELAY' }));
    } else if (policy.timeout_action === 'DELAY') {
      const text = `DELAY has no effect without 'default_timeout_microseconds' for ${name}, and could not keep the order with it`;
      findings.push(warning(action, text));
    }
  }
  return findings;
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
  return [...findings, ...checkLevels(name, batching), ...checkOrdering(name, batching)];
};
