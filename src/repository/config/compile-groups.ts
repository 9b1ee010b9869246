import type { InstanceGroup, InstanceKind } from '../../streams/inference/model-spec.ts';
import type { ConfigInstanceGroup, ConfigInstanceKind } from './model-config.ts';

const kinds: Readonly<Record<ConfigInstanceKind, InstanceKind>> = {
  KIND_AUTO: 'CPU',
  KIND_CPU: 'CPU',
  KIND_GPU: 'GPU',
  KIND_MODEL: 'MODEL',
};

export const compileGroup = ({ name, kind, count, gpus, passive, rate_limiter: limiter }: ConfigInstanceGroup): InstanceGroup => ({
  name,
  kind: kinds[kind],
  count,
  gpus,
  isPassive: passive,
  resources: (limiter?.resources ?? []).map((resource) => ({ name: resource.name, isGlobal: resource.global, count: resource.count })),
  priority: Math.max(1, limiter?.priority ?? 1),
});
