import { compose } from '../../src/server/compose.ts';
import { openLog } from '../../src/server/open-log.ts';
import { settingsOf } from '../../src/server/options.ts';
import type { DataPlane } from '../../src/streams/inference/data-plane.ts';

/** A server without ports, asked where the front ends ask. */
export interface OpenServer {
  readonly dataPlane: DataPlane;
  close(): Promise<unknown>;
}

/** Rejects with a StartError. */
export const openServer = async (modelRepository: string): Promise<OpenServer> => {
  const settings = settingsOf({ modelRepository });
  const log = openLog(settings.log);
  const { dataPlane, close } = await compose({ settings, log, signal: new AbortController().signal });
  return { dataPlane, close: () => close().finally(() => log.close()) };
};
