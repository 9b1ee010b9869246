import { onTestFinished } from 'vitest';
import { type HttpConfig, type HttpListening, serveHttp } from '../../../../src/frontends/http/serve.ts';
import type { DataPlane } from '../../../../src/streams/inference/data-plane.ts';
import { makeLog } from '../../../support/model.ts';

export const httpConfig = (fields: Partial<HttpConfig> = {}): HttpConfig => ({
  address: '127.0.0.1',
  port: 0,
  reusePort: false,
  maxInputSize: 64 * 1024 * 1024,
  headerForwardPattern: '',
  log: makeLog(),
  ...fields,
});

/** A server that is gone when the test ends. */
export const serve = async (dataPlane: DataPlane, fields: Partial<HttpConfig> = {}): Promise<HttpListening> => {
  const listening = await serveHttp(dataPlane, httpConfig(fields));
  onTestFinished(() => listening.close(AbortSignal.abort()));
  return listening;
};
