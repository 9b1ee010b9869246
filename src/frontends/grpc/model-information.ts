import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import { parseVersion } from './parse-version.ts';
import { type PlainHandlers, stringOf } from './unary-method.ts';

const checkReady = (dataPlane: DataPlane): void => {
  if (dataPlane.isExiting()) throw new InferError('UNAVAILABLE', 'Server not ready');
};

/** What the server and its models tell about themselves. */
export const informationHandlers = (dataPlane: DataPlane): PlainHandlers => ({
  ServerMetadata: () => {
    checkReady(dataPlane);
    return { ...dataPlane.serverMetadata() };
  },
  ModelMetadata: (fields) => {
    checkReady(dataPlane);
    return { ...dataPlane.modelMetadata(stringOf(fields, 'name'), parseVersion(stringOf(fields, 'version'))) };
  },
  ModelConfig: (fields) => {
    checkReady(dataPlane);
    return { config: dataPlane.model(stringOf(fields, 'name'), parseVersion(stringOf(fields, 'version'))).spec.config };
  },
  ModelStatistics: async (fields) => {
    checkReady(dataPlane);
    return { model_stats: await dataPlane.statistics(stringOf(fields, 'name'), parseVersion(stringOf(fields, 'version'))) };
  },
});
