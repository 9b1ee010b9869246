import type { FastifyInstance } from 'fastify';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { jsonText } from '../../streams/inference/json/json-text.ts';
import { requireRunning } from './health-routes.ts';
import { modelAddress, modelPaths, register, sendJson } from './routes.ts';

/** What a model is made of and what goes on in it; Triton has no such path. */
export const graphRoutes = (app: FastifyInstance, dataPlane: DataPlane): void => {
  register(app, ['GET'], modelPaths('/graph'), (request, reply) => {
    requireRunning(dataPlane);
    const { name, version } = modelAddress(request);
    return sendJson(reply, jsonText(dataPlane.graph(name, version)));
  });
};
