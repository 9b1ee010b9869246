import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ModelConfig } from './model-config.ts';

/** `off`: the server takes no notice of resources, and neither does a fault in them matter. */
export type RateLimitMode = 'off' | 'execution_count';

/** Faults of the resources that a model's instances take. Whether the server has enough of them shows when it loads. */
export const checkResources = ({ instance_group }: ModelConfig, mode: RateLimitMode): readonly Finding[] => {
  const all = instance_group.flatMap(({ rate_limiter }, group) =>
    (rate_limiter?.resources ?? []).map((resource, index) => ({
      ...resource,
      field: `instance_group[${group}].rate_limiter.resources[${index}]`,
    })),
  );
  const isGlobal = new Map<string, boolean>();
  const told = new Set<string>();
  const findings: Finding[] = [];
  for (const { name, global, field } of all) {
    const before = isGlobal.get(name) ?? global;
    isGlobal.set(name, before);
    if (before === global || told.has(name)) continue;
    told.add(name);
    const text = `Resource "${name}" is present as both global and device-specific resource in the model configuration.`;
    findings.push(mode === 'off' ? warning(field, `${text} It loads only with --rate-limit=off`) : fault(field, text));
  }
  return findings;
};
