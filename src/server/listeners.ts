import type { ServerSettings } from './settings.ts';

/** Where metrics listen: beside HTTP unless told otherwise. */
export const metricsAddress = ({ metrics, http }: ServerSettings): string => (metrics.address === '' ? http.address : metrics.address);
