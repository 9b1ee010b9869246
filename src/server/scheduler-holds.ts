import type { ModelSettings } from './settings.ts';

/** Triton's variables, which conformance suites set; what is no count is none. */
const countIn = (value: string | undefined): number => (value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : 0);

/** How long schedulers hold their first batch back, as the environment has it: the only place that reads it. */
export const schedulerHolds = (environment: NodeJS.ProcessEnv): Pick<ModelSettings, 'holdUntilQueued' | 'holdUntilBacklogged'> => ({
  holdUntilQueued: countIn(environment.TRITONSERVER_DELAY_SCHEDULER),
  holdUntilBacklogged: countIn(environment.TRITONSERVER_BACKLOG_DELAY_SCHEDULER),
});
