import { allowedGrowth, levelOf } from '../measure/memory.ts';
import type { Soak } from './run-soak.ts';

/** The exit time of the server under the soak, its flag's default. */
export const exitTimeoutSeconds = 30;

/** Samples that count: those after the warm-up. */
export const afterWarmUp = (samples: readonly number[], warmUpSamples: number): readonly number[] => samples.slice(warmUpSamples);

const requestFaults = ({ loads, visitors, unwanted }: Soak): readonly string[] => [
  ...loads
    .filter(({ result }) => result.failed + result.hung > 0 || result.answered === 0)
    .map(({ load, result }) => `${load.protocol} ${load.question.model}: ${result.failed} failed, ${result.hung} hung: ${result.fault}`),
  ...visitors
    .filter(({ failed, visits }) => failed > 0 || visits === 0)
    .map(({ name, failed, visits, fault }) => `${name}: ${failed} of ${visits} visits failed: ${fault}`),
  ...unwanted,
];

/** Everything that a soak should not have shown. */
export const judgeSoak = (soak: Soak, warmUpSamples: number): readonly string[] => {
  const faults = [...requestFaults(soak), ...soak.left];
  const { earlyMiB, lateMiB, isLevel } = levelOf(afterWarmUp(soak.residentMiB, warmUpSamples));
  if (!isLevel) {
    faults.push(`resident memory grew from ${earlyMiB.toFixed(0)} to ${lateMiB.toFixed(0)} MiB, more than ${allowedGrowth * 100} %`);
  }
  if (soak.cancellations === 0) faults.push('no cancellation reached the models');
  if (soak.exitCode !== 0) faults.push(`the server ended with ${soak.exitCode}`);
  if (soak.exitSeconds > exitTimeoutSeconds) faults.push(`the server took ${soak.exitSeconds.toFixed(1)} s to end`);
  return faults;
};
