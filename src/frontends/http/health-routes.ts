import type { FastifyInstance, FastifyReply } from 'fastify';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import { errorText } from './render-response.ts';
import { modelAddress, modelPaths, register, sendEmpty, sendJson } from './routes.ts';

/** 200 or 400 without a body; what is not ready is also what nobody knows, as older Tritons have it and clients expect it. */
export const healthRoutes = (app: FastifyInstance, dataPlane: DataPlane): void => {
  const answer = (reply: FastifyReply, isHealthy: boolean): FastifyReply => {
    if (dataPlane.isExiting()) throw new InferError('UNAVAILABLE', 'Server exiting');
    return sendEmpty(reply, isHealthy ? 200 : 400);
  };
  register(app, ['GET'], ['/v2/health/live'], (_request, reply) => answer(reply, dataPlane.isLive()));
  register(app, ['GET'], ['/v2/health/ready'], (_request, reply) => answer(reply, dataPlane.isReady()));
  register(app, ['GET'], modelPaths('/ready'), (request, reply) => {
    requireRunning(dataPlane);
    const { name, version } = modelAddress(request);
    return dataPlane.isModelReady(name, version) ? sendEmpty(reply) : sendJson(reply, errorText('Model version not ready'), 400);
  });
};

/** @throws InferError UNAVAILABLE while the server exits */
export const requireRunning = (dataPlane: DataPlane): void => {
  if (dataPlane.isExiting()) throw new InferError('UNAVAILABLE', 'Server not ready');
};
