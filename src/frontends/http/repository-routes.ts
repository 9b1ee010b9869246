import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import { findMember } from '../../streams/inference/json/json-members.ts';
import { jsonText } from '../../streams/inference/json/json-text.ts';
import { parseDocument } from '../../streams/inference/json/parse-document.ts';
import type { BodyMemory } from './body-memory.ts';
import { drain } from './drain.ts';
import { requireRunning } from './health-routes.ts';
import { type BodyLimit, readBody } from './read-body.ts';
import { register, sendJson } from './routes.ts';

interface RepositoryRoutesConfig {
  readonly dataPlane: DataPlane;
  readonly limit: BodyLimit;
  readonly memory: BodyMemory;
}

/** The repository that the path names makes no difference, as in Triton. */
export const repositoryRoutes = (app: FastifyInstance, { dataPlane, limit, memory }: RepositoryRoutesConfig): void => {
  register(app, ['POST'], ['/v2/repository/index', '/v2/repository/:repository/index'], async (request, reply) => {
    try {
      requireRunning(dataPlane);
      const isReadyOnly = await readIndexRequest(request.raw, limit, memory);
      return sendJson(reply, jsonText(await dataPlane.index(isReadyOnly)));
    } finally {
      drain(request.raw);
    }
  });
  // The control mode is `none`: the repository is read once, at the start.
  const refuse = (path: string, error: () => InferError): void =>
    register(app, ['POST'], [`${path}/load`, `${path}/unload`], (request) => {
      drain(request.raw);
      throw error();
    });
  refuse('/v2/repository/models/:model', () => new InferError('UNAVAILABLE', loadRefusal));
  refuse(
    '/v2/repository/:repository/models/:model',
    () => new InferError('UNIMPLEMENTED', "'repository_name' specification is not supported"),
  );
};

/** Triton's words for every mode but `explicit`. */
const loadRefusal = 'explicit model load / unload is not allowed if polling is enabled';

/** Whether only what is ready is wanted. */
const readIndexRequest = async (message: IncomingMessage, limit: BodyLimit, memory: BodyMemory): Promise<boolean> => {
  const body = await readBody(message, limit, memory);
  try {
    if (body.length === 0) return false;
    const ready = findMember(parseDocument(body.buffer, 0, body.length).root, 'ready');
    if (ready === undefined) return false;
    if (typeof ready !== 'boolean') throw new InferError('INVALID_ARGUMENT', "Invalid value for 'ready': expected a boolean");
    return ready;
  } finally {
    if (body.isPooled) memory.give(body.buffer);
  }
};
