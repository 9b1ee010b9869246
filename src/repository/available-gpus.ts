import { readdir } from 'node:fs/promises';

/** Numbers of the machine's NVIDIA GPUs, from the driver's device files; empty where there are none. */
export const availableGpus = async (): Promise<readonly number[]> => {
  const devices = await readdir('/dev').catch(() => []);
  return devices
    .filter((name) => /^nvidia\d+$/.test(name))
    .map((name) => Number(name.slice('nvidia'.length)))
    .toSorted((a, b) => a - b);
};
