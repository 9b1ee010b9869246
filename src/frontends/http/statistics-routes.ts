import type { FastifyInstance } from 'fastify';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { jsonText } from '../../streams/inference/json/json-text.ts';
import { requireRunning } from './health-routes.ts';
import { modelAddress, modelPaths, register, sendJson } from './routes.ts';

/** `/v2/models/stats` hides the metadata of a model named `stats`, as in Triton. */
export const statisticsRoutes = (app: FastifyInstance, dataPlane: DataPlane): void => {
  register(app, ['GET'], ['/v2/models/stats'], async (_request, reply) => {
    requireRunning(dataPlane);
    return sendJson(reply, jsonText({ model_stats: await dataPlane.statistics('', '') }));
  });
  register(app, ['GET'], modelPaths('/stats'), async (request, reply) => {
    requireRunning(dataPlane);
    const { name, version } = modelAddress(request);
    return sendJson(reply, jsonText({ model_stats: await dataPlane.statistics(name, version) }));
  });
};
