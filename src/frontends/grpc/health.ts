import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import { parseVersion } from './parse-version.ts';
import { type PlainHandlers, stringOf } from './unary-method.ts';

const checkNotExiting = (dataPlane: DataPlane, message: string): void => {
  if (dataPlane.isExiting()) throw new InferError('UNAVAILABLE', message);
};

/** The calls that only ask whether the server, or a model, would answer. A model that is not known is not ready. */
export const healthHandlers = (dataPlane: DataPlane): PlainHandlers => ({
  ServerLive: () => {
    checkNotExiting(dataPlane, 'Server exiting');
    return { live: dataPlane.isLive() };
  },
  ServerReady: () => {
    checkNotExiting(dataPlane, 'Server exiting');
    return { ready: dataPlane.isReady() };
  },
  ModelReady: (fields) => {
    checkNotExiting(dataPlane, 'Server not ready');
    return { ready: dataPlane.isModelReady(stringOf(fields, 'name'), parseVersion(stringOf(fields, 'version'))) };
  },
});

/** `grpc.health.v1.Health`: of the server as a whole, whichever service is asked for. */
export const healthServiceHandlers = (dataPlane: DataPlane): PlainHandlers => ({
  Check: () => {
    checkNotExiting(dataPlane, 'Server exiting');
    return { status: dataPlane.isReady() ? 'SERVING' : 'NOT_SERVING' };
  },
});
