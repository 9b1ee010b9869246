import { describe, expect, it } from 'vitest';
import type { DataPlane } from '../../../src/streams/inference/data-plane.ts';
import { call, failure } from './support/client.ts';
import { identityDataPlane } from './support/repository.ts';
import { serve } from './support/serving.ts';

const start = async (change: Partial<DataPlane> = {}): Promise<number> => (await serve({ ...(await identityDataPlane()), ...change })).port;

const json = async (port: number, path: string): Promise<unknown> => JSON.parse((await call(port, { path })).text);

describe('health', () => {
  it('answers 200 or 400 with nothing in it', async () => {
    const well = await start();
    const unwell = await start({ isLive: () => false, isReady: () => false });
    for (const path of ['/v2/health/live', '/v2/health/ready']) {
      expect(await call(well, { path })).toMatchObject({ status: 200, text: '' });
      expect(await call(unwell, { path })).toMatchObject({ status: 400, text: '' });
    }
  });

  it('tells whether a model is ready', async () => {
    const port = await start();
    expect(await call(port, { path: '/v2/models/two/ready' })).toMatchObject({ status: 200, text: '' });
    expect(await call(port, { path: '/v2/models/two/versions/1/ready' })).toMatchObject({ status: 200, text: '' });
    for (const path of ['/v2/models/two/versions/2/ready', '/v2/models/nobody/ready']) {
      expect(await failure(port, { path })).toBe('400 Model version not ready');
    }
  });
});

describe('metadata', () => {
  it('describes the server', async () => {
    const reply = await call(await start(), { path: '/v2?any=thing' });
    expect(reply.headers['content-type']).toBe('application/json');
    expect(JSON.parse(reply.text)).toMatchObject({
      name: 'weir',
      version: '1.2.3',
      extensions: expect.arrayContaining(['binary_tensor_data']),
    });
  });

  it('describes a model', async () => {
    const port = await start();
    const described = {
      name: 'two',
      versions: ['1'],
      platform: 'identity',
      inputs: [
        { name: 'INPUT0', datatype: 'INT32', shape: [-1, 4] },
        { name: 'INPUT1', datatype: 'INT32', shape: [-1, 4] },
      ],
      outputs: [
        { name: 'OUTPUT0', datatype: 'INT32', shape: [-1, 4] },
        { name: 'OUTPUT1', datatype: 'INT32', shape: [-1, 4] },
      ],
    };
    expect(await json(port, '/v2/models/two')).toEqual(described);
    expect(await json(port, '/v2/models/two/versions/1')).toEqual(described);
    expect(await json(port, '/v2/models/two/config')).toMatchObject({ name: 'two', max_batch_size: 8 });
    expect(await json(port, '/v2/models/two/versions/1/config')).toMatchObject({ name: 'two', max_batch_size: 8 });
  });

  it('has statistics of all models, of one, of a version', async () => {
    const port = await start();
    expect(await json(port, '/v2/models/stats')).toMatchObject({
      model_stats: expect.arrayContaining([expect.objectContaining({ name: 'two' })]),
    });
    for (const path of ['/v2/models/two/stats', '/v2/models/two/versions/1/stats']) {
      expect(await json(port, path)).toMatchObject({ model_stats: [{ name: 'two', version: '1', inference_count: 0 }] });
    }
    expect(await failure(port, { path: '/v2/models/nobody/stats' })).toBe("400 requested model 'nobody' is not available");
    expect(await failure(port, { path: '/v2/models/two/versions/9/stats' })).toBe(
      "400 requested model version is not available for model 'two'",
    );
  });

  it('knows the same faults of a model everywhere', async () => {
    const port = await start();
    for (const suffix of ['', '/config']) {
      expect(await failure(port, { path: `/v2/models/nobody${suffix}` })).toBe("404 Request for unknown model: 'nobody' is not found");
      expect(await failure(port, { path: `/v2/models/two/versions/7${suffix}` })).toBe(
        "404 Request for unknown model: 'two' version 7 is not found",
      );
    }
  });
});

describe('the repository index', () => {
  it.each(['/v2/repository/index', '/v2/repository/any/index'])('lists models at %s', async (path) => {
    const port = await start();
    for (const body of ['', '{}', '{"ready":true}', '[]']) {
      const reply = await call(port, { path, body });
      expect(JSON.parse(reply.text)).toContainEqual({ name: 'two', version: '1', state: 'READY' });
    }
  });

  it('refuses bodies that it cannot read', async () => {
    const port = await start();
    const path = '/v2/repository/index';
    expect(await failure(port, { path, body: '{"ready":1}' })).toBe("400 Invalid value for 'ready': expected a boolean");
    expect(await failure(port, { path, body: '{' })).toBe(
      '500 failed to parse the request JSON buffer: Missing a name for object member. at 1',
    );
  });
});

describe('dispatch', () => {
  it.each([
    '/',
    '/v2/nothing',
    '/v2/',
    '/v2/models',
    '/v2/models/two/',
    '/v2/models//ready',
    '/v2/models/two/versions/abc',
    '/v2/models/two/versions/1x/ready',
    '/v2/models/two/versions',
    '/v2/models/two/versions/1/trace/setting',
    '/v2/health',
  ])('finds nothing at %s', async (path) => {
    expect(await failure(await start(), { path })).toBe('404 Not Found');
  });

  it.each([
    ['DELETE', '/v2'],
    ['HEAD', '/v2/health/live'],
    ['POST', '/v2/models/two'],
    ['GET', '/v2/models/two/infer'],
    ['PUT', '/v2/models/two/versions/1/infer'],
    ['GET', '/v2/repository/index'],
    ['GET', '/v2/models/two/generate'],
    ['OPTIONS', '/v2/models/stats'],
    ['POST', '/v2/systemsharedmemory/status'],
  ])('refuses %s %s', async (method, path) => {
    const { status, text } = await call(await start(), { method, path });
    expect(status).toBe(405);
    if (method !== 'HEAD') expect(text).toBe('{"error":"Method Not Allowed"}');
  });

  it.each([
    ['POST', '/v2/models/two/generate', 'generate'],
    ['POST', '/v2/models/two/versions/1/generate_stream', 'generate_stream'],
    ['GET', '/v2/trace/setting', 'trace setting'],
    ['POST', '/v2/models/two/trace/setting', 'trace setting'],
    ['GET', '/v2/logging', 'logging setting'],
    ['GET', '/v2/systemsharedmemory/status', 'system shared memory'],
    ['GET', '/v2/systemsharedmemory/region/r/status', 'system shared memory'],
    ['POST', '/v2/cudasharedmemory/region/r/register', 'CUDA shared memory'],
    ['POST', '/v2/cudasharedmemory/unregister', 'CUDA shared memory'],
  ])('says that %s %s is missing', async (method, path, what) => {
    expect(await failure(await start(), { method, path, ...(method === 'POST' && { body: '{}' }) })).toBe(
      `501 ${what} is not supported by this version of Weir`,
    );
  });

  it.each([
    ['/v2/repository/models/two/load', '503 explicit model load / unload is not allowed if polling is enabled'],
    ['/v2/repository/models/missing/unload', '503 explicit model load / unload is not allowed if polling is enabled'],
    ['/v2/repository/r/models/two/load', "501 'repository_name' specification is not supported"],
    ['/v2/repository/r/models/two/unload', "501 'repository_name' specification is not supported"],
  ])('refuses POST %s in this control mode', async (path, answer) => {
    expect(await failure(await start(), { method: 'POST', path, body: '{}' })).toBe(answer);
  });

  it.each([
    ['/v2/models/a%20b', "404 Request for unknown model: 'a b' is not found"],
    ['/v2/models/a+b', "404 Request for unknown model: 'a+b' is not found"],
    ['/v2/models/a%252Fb', "404 Request for unknown model: 'a%2Fb' is not found"],
    ['/v2/models/%C3%BC', "404 Request for unknown model: 'ü' is not found"],
    [`/v2/models/${'n'.repeat(2000)}`, `404 Request for unknown model: '${'n'.repeat(2000)}' is not found`],
    ['/v2/models/..%2ftwo', "400 invalid model name '../two', model name must not contain path traversal characters"],
    ['/v2/models/%2e%2e/config', "400 invalid model name '..', model name must not contain path traversal characters"],
    ['/v2/models/a%5Cb/ready', "400 invalid model name 'a\\b', model name must not contain path traversal characters"],
    ['/v2/models/%zz', "400 '/v2/models/%zz' is not a valid url component"],
    ['/v2/models/two/versions/0', "404 Request for unknown model: 'two' version 0 is not found"],
  ])('decodes %s once', async (path, message) => {
    expect(await failure(await start(), { path })).toBe(message);
  });

  it('serves the inference of a model named stats, though not its metadata', async () => {
    expect(await failure(await start(), { path: '/v2/models/stats/infer', body: '{}' })).toBe(
      "404 Request for unknown model: 'stats' is not found",
    );
  });

  it('hides an error that is none of ours behind its message, and logs it', async () => {
    const port = await start({
      serverMetadata: () => {
        throw new Error('broken');
      },
    });
    expect(await failure(port, { path: '/v2' })).toBe('500 broken');
  });
});

describe('a server that exits', () => {
  it('is neither live nor ready, and answers nothing but inference', async () => {
    const port = await start({ isExiting: () => true });
    for (const path of ['/v2/health/live', '/v2/health/ready']) expect(await failure(port, { path })).toBe('503 Server exiting');
    for (const path of [
      '/v2',
      '/v2/models/two',
      '/v2/models/two/config',
      '/v2/models/two/ready',
      '/v2/models/stats',
      '/v2/models/two/stats',
    ]) {
      expect(await failure(port, { path })).toBe('503 Server not ready');
    }
    expect(await failure(port, { path: '/v2/repository/index', body: '' })).toBe('503 Server not ready');
    const body = '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1],"data":[5]}]}';
    expect((await call(port, { path: '/v2/models/identity_int32/infer', body })).text).toContain('"data":[5]');
  });
});
