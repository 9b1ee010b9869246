import type { FastifyInstance, HTTPMethods } from 'fastify';
import { InferError } from '../../streams/inference/error.ts';
import { drain } from './drain.ts';
import { modelPaths, register } from './routes.ts';

const both: readonly HTTPMethods[] = ['GET', 'POST'];
const post: readonly HTTPMethods[] = ['POST'];
const get: readonly HTTPMethods[] = ['GET'];

/** Triton's paths that this version does not serve: the answer says what is missing. */
export const missingRoutes = (app: FastifyInstance): void => {
  const missing = (what: string, methods: readonly HTTPMethods[], paths: readonly string[]): void =>
    register(app, methods, paths, (request) => {
      drain(request.raw);
      throw new InferError('UNIMPLEMENTED', `${what} is not supported by this version of Weir`);
    });
  missing('generate', post, modelPaths('/generate'));
  missing('generate_stream', post, modelPaths('/generate_stream'));
  missing('trace setting', both, ['/v2/trace/setting', '/v2/models/:model/trace/setting']);
  missing('logging setting', both, ['/v2/logging']);
  for (const kind of ['system', 'cuda']) {
    const base = `/v2/${kind}sharedmemory`;
    const what = `${kind === 'system' ? 'system' : 'CUDA'} shared memory`;
    missing(what, get, [`${base}/status`, `${base}/region/:region/status`]);
    missing(what, post, [`${base}/region/:region/register`, `${base}/unregister`, `${base}/region/:region/unregister`]);
  }
};
