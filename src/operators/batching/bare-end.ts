import type { Part } from '../../streams/inference/backend.ts';

/** It says nothing but that no other part follows. */
export const isBareEnd = ({ isLast, error, outputs, parameters }: Part): boolean =>
  isLast && error === undefined && outputs.size === 0 && parameters.size === 0;
