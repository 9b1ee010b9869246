import type { Placement } from '../streams/inference/backend.ts';
import type { InstanceGroup } from '../streams/inference/model-spec.ts';

const inGroup = ({ name, kind, count, gpus }: InstanceGroup): readonly Placement[] => {
  const devices = kind === 'GPU' ? gpus : [0];
  return devices.flatMap((device) => Array.from({ length: count }, (_, index) => ({ name: `${name}_${index}`, kind, device })));
};

/** Where the instances of a model run, group by group: a GPU group has its count on each of its GPUs, under the same names. */
export const placementsOf = (groups: readonly InstanceGroup[]): readonly Placement[] => groups.flatMap(inGroup);
