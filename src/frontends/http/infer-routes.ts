import type { FastifyInstance } from 'fastify';
import { type InferContext, InferExchange } from './infer-exchange.ts';
import { modelAddress, modelPaths, register } from './routes.ts';

export const inferRoutes = (app: FastifyInstance, context: InferContext): void => {
  register(app, ['POST'], modelPaths('/infer'), (request, reply) => {
    const { name, version } = modelAddress(request);
    reply.hijack();
    new InferExchange(context, request.raw, reply.raw).run(name, version);
  });
};
