import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { type InferContext, InferExchange } from './infer-exchange.ts';
import { modelAddress, modelPaths, register } from './routes.ts';

/** An infer path as clients write it for most names: nothing to decode, no query. */
const plainPath = /^\/v2\/models\/(\w[\w.-]*)(?:\/versions\/(\d+))?\/infer$/;

/** Begins an infer request without the router, whose way takes as long as all of the graph's; false for what needs it. */
export const inferAtOnce =
  (context: InferContext) =>
  (request: IncomingMessage, response: ServerResponse): boolean => {
    const path = request.method === 'POST' ? plainPath.exec(request.url ?? '') : null;
    if (path === null) return false;
    new InferExchange(context, request, response).run(path[1] ?? '', path[2] ?? '');
    return true;
  };

export const inferRoutes = (app: FastifyInstance, context: InferContext): void => {
  register(app, ['POST'], modelPaths('/infer'), (request, reply) => {
    const { name, version } = modelAddress(request);
    reply.hijack();
    new InferExchange(context, request.raw, reply.raw).run(name, version);
  });
};
