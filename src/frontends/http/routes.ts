import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { InferError } from '../../streams/inference/error.ts';
import { errorText } from './render-response.ts';

export type RouteHandler = (request: FastifyRequest, reply: FastifyReply) => unknown;

const versionPart = '/versions/:version(^\\d+$)';

/** The paths of something that a model has, with a version and without. */
export const modelPaths = (suffix: string): readonly string[] => [`/v2/models/:model${suffix}`, `/v2/models/:model${versionPart}${suffix}`];

/** Registers paths for some methods; any other method is answered with 405. One route each: making a route costs more than answering one. */
export const register = (app: FastifyInstance, methods: readonly HTTPMethods[], paths: readonly string[], handler: RouteHandler): void => {
  const allowed: readonly string[] = methods;
  const dispatch: RouteHandler = (request, reply) =>
    allowed.includes(request.method) ? handler(request, reply) : sendJson(reply, errorText('Method Not Allowed'), 405);
  for (const url of paths) app.route({ method: app.supportedMethods, url, handler: dispatch });
};

/** As bytes: to a string fastify adds a charset, which Triton does not have. */
export const sendJson = (reply: FastifyReply, text: string, status = 200): FastifyReply =>
  reply.code(status).header('content-type', 'application/json').send(Buffer.from(text));

export const sendEmpty = (reply: FastifyReply, status = 200): FastifyReply => reply.code(status).send();

interface ModelAddress {
  readonly name: string;
  /** `''` for the newest. */
  readonly version: string;
}

/** Which model the path names: decoded once. @throws InferError INVALID_ARGUMENT for a name that is a path */
export const modelAddress = ({ params }: FastifyRequest): ModelAddress => {
  const name = stringParam(params, 'model');
  if (name === '') throw new InferError('NOT_FOUND', 'Not Found');
  if (name === '.' || name === '..' || /[/\\\0]/.test(name)) {
    throw new InferError('INVALID_ARGUMENT', `invalid model name '${name}', model name must not contain path traversal characters`);
  }
  return { name, version: stringParam(params, 'version') };
};

const stringParam = (params: unknown, name: string): string => {
  if (typeof params !== 'object' || params === null) return '';
  const value: unknown = Reflect.get(params, name);
  return typeof value === 'string' ? value : '';
};
