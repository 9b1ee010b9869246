import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import { defaultCpuInstances } from './known-backends.ts';
import type { ConfigInstanceGroup, ConfigInstanceKind, ModelConfig } from './model-config.ts';

/** Triton's default for the least compute capability that it takes. */
const leastComputeCapability = '6.0';

const emptyGroup: ConfigInstanceGroup = { name: '', kind: 'KIND_AUTO', count: 0, gpus: [], profile: [], passive: false };

/** KIND_AUTO is KIND_CPU here: GPUs are used where the config asks for them. */
const kindOf = (group: ConfigInstanceGroup): ConfigInstanceKind => (group.kind === 'KIND_AUTO' ? 'KIND_CPU' : group.kind);

const completeGroup = (group: ConfigInstanceGroup, name: string, backend: string, gpus: readonly number[]): ConfigInstanceGroup => {
  const kind = kindOf(group);
  const count = kind === 'KIND_CPU' ? defaultCpuInstances(backend) : 1;
  return {
    ...group,
    name: group.name === '' ? name : group.name,
    kind,
    count: group.count < 1 ? count : group.count,
    gpus: kind === 'KIND_GPU' && group.gpus.length === 0 ? gpus : group.gpus,
  };
};

/** Gives every instance group its name, kind, count and, for KIND_GPU, its GPUs; a model without groups gets one. */
export const completeInstanceGroups = (config: ModelConfig, gpus: readonly number[]): ModelConfig => ({
  ...config,
  instance_group:
    config.instance_group.length === 0
      ? [completeGroup(emptyGroup, config.name, config.backend, gpus)]
      : config.instance_group.map((group, index) => completeGroup(group, `${config.name}_${index}`, config.backend, gpus)),
});

const checkGpus = (group: ConfigInstanceGroup, who: string, field: string, available: readonly number[]): Finding[] => {
  if (group.kind !== 'KIND_GPU') {
    if (group.gpus.length === 0) return [];
    return [
      fault(field, `${who} has kind ${group.kind} but specifies one or more GPUs`, { wanted: '[]', got: `[${group.gpus.join(',')}]` }),
    ];
  }
  if (group.gpus.length === 0) return [fault(field, `${who} has kind KIND_GPU but no GPUs are available`)];
  return group.gpus
    .filter((gpu) => !available.includes(gpu))
    .map((gpu) =>
      fault(
        field,
        `${who} specifies invalid or unsupported gpu id ${gpu}. GPUs with at least the minimum required CUDA compute compatibility of ${leastComputeCapability} are: ${available.join(' ')}`,
      ),
    );
};

/** Faults of completed groups. `written` is the config before completion, for what it hid. */
export const checkInstanceGroups = (config: ModelConfig, written: ModelConfig, gpus: readonly number[]): readonly Finding[] => {
  const names = new Set<string>();
  const findings = config.instance_group.flatMap((group, index) => {
    const field = `instance_group[${index}]`;
    const who = `instance group ${group.name} of model ${config.name}`;
    const findings = checkGpus(group, who, `${field}.gpus`, gpus);
    if (group.profile.length > 0) {
      // The missing blank is Triton's.
      const text = `${who} and platform ${config.platform}specifies profile field which is only supported for TensorRT models`;
      findings.push(fault(`${field}.profile`, text));
    }
    if (names.has(group.name))
      findings.push(warning(`${field}.name`, `another instance group of model ${config.name} is named ${group.name} too`));
    names.add(group.name);
    const count = written.instance_group[index]?.count ?? 0;
    if (count < 0) findings.push(warning(`${field}.count`, `${who} has a negative count, which is taken for none`, { got: String(count) }));
    return findings;
  });
  if (config.instance_group.some(({ passive }) => !passive)) return findings;
  return [...findings, warning('instance_group', `all instance groups of model ${config.name} are passive: it takes no requests`)];
};
