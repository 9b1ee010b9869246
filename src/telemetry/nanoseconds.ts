/** Each duration is rounded before it is added, so that sums are exact and do not depend on the order of the events. */
export const nanoseconds = (ms: number): number => Math.round(ms * 1e6);
