import type { Placement } from '../streams/inference/backend.ts';
import type { InstanceGroup } from '../streams/inference/model-spec.ts';

const inGroup = ({ name, count, gpus, ...group }: InstanceGroup): readonly Placement[] => {
  const devices = group.kind === 'GPU' ? gpus : [0];
  return devices.flatMap((device) => Array.from({ length: count }, (_, index) => ({ ...group, name: `${name}_${index}`, device })));
};

/** Where the instances of a model run, group by group: a GPU group has its count on each of its GPUs, under the same names. */
export const placementsOf = (groups: readonly InstanceGroup[]): readonly Placement[] => groups.flatMap(inGroup);
