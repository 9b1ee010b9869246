import { expect } from 'vitest';
import { until } from '../../../support/until.ts';
import type { TestDataPlane } from './data-plane.ts';
import { noCounts, type Serving } from './serving.ts';

/** Waits until no call and no model is at work, nor a message that is being decompressed, and looks whether a gauge says otherwise. */
export const nothingIsLeft = async (dataPlane: TestDataPlane, { server }: Serving): Promise<void> => {
  await until(() => dataPlane.running === 0 && server.counters().calls === 0 && server.counters().messageBytes === 0);
  expect(server.counters()).toEqual(noCounts);
};
