import type { FastifyInstance } from 'fastify';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { jsonText } from '../../streams/inference/json/json-text.ts';
import { requireRunning } from './health-routes.ts';
import { modelAddress, modelPaths, register, sendJson } from './routes.ts';

export const metadataRoutes = (app: FastifyInstance, dataPlane: DataPlane): void => {
  register(app, ['GET'], ['/v2'], (_request, reply) => {
    requireRunning(dataPlane);
    return sendJson(reply, jsonText(dataPlane.serverMetadata()));
  });
  register(app, ['GET'], modelPaths(''), (request, reply) => {
    requireRunning(dataPlane);
    const { name, version } = modelAddress(request);
    return sendJson(reply, jsonText(dataPlane.modelMetadata(name, version)));
  });
  register(app, ['GET'], modelPaths('/config'), (request, reply) => {
    requireRunning(dataPlane);
    const { name, version } = modelAddress(request);
    return sendJson(reply, jsonText(dataPlane.model(name, version).spec.config));
  });
};
