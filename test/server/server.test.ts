import { once } from 'node:events';
import { createServer } from 'node:net';
import { firstValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InferError, Server, StartError, tensorFrom } from '../../src/index.ts';
import { identityConfig, type ModelRepository, modelRepository, textConfig } from './support/model-repository.ts';

let models: ModelRepository;
let server: Server;

beforeAll(async () => {
  models = await modelRepository({ echo: identityConfig(), slow: identityConfig(600_000), text: textConfig });
  server = await Server.start({ modelRepository: models.path, id: 'embedded' });
});
afterAll(async () => {
  await server.close();
  await models[Symbol.asyncDispose]();
});

const codeOf = async (answer: Promise<unknown>): Promise<unknown> => {
  try {
    return await answer;
  } catch (error) {
    return error instanceof InferError ? error.code : error;
  }
};

const row = { shape: [1, 2], values: [1.5, 2.5] };

/** Resolves once the model runs, or has in its queue, as many requests. */
const inFlight = async (model: string, count: number): Promise<void> => {
  const graph = () => server.graphs().find((each) => each.model === model);
  await expect
    .poll(() => graph()?.stages.reduce((sum, { queued, running }) => sum + queued + running, 0), { interval: 5, timeout: 10_000 })
    .toBe(count);
};

describe('a question', () => {
  it('takes arrays, and has one answer', async () => {
    const answer = await server.model('echo').inferOnce({ id: 'q1', inputs: { INPUT0: row } });
    expect(answer).toMatchObject({ modelName: 'echo', modelVersion: '1', id: 'q1' });
    expect(answer.values('OUTPUT0')).toEqual(Float32Array.of(1.5, 2.5));
    expect(answer.tensor('OUTPUT0').shape).toEqual([1, 2]);
  });

  it('takes typed arrays and tensors, whose bytes the answer does not share', async () => {
    const values = Float32Array.of(1, 2);
    const [fromValues, fromTensor] = await Promise.all([
      server.model('echo').inferOnce({ inputs: { INPUT0: { shape: [1, 2], values } } }),
      server.model('echo', '1').inferOnce({ inputs: { INPUT0: tensorFrom('FP32', [1, 2], values) } }),
    ]);
    values.fill(9);
    expect(fromValues.values('OUTPUT0')).toEqual(Float32Array.of(1, 2));
    expect(fromTensor.values('OUTPUT0')).toEqual(Float32Array.of(1, 2));
  });

  it('takes texts', async () => {
    const answer = await server.model('text').inferOnce({ inputs: { TEXT: { shape: [2], values: ['Wehr', 'barrage à vannes'] } } });
    expect(answer.strings('ECHO')).toEqual(['Wehr', 'barrage à vannes']);
  });

  it('is a stream of answers, once for each subscription', async () => {
    const answers$ = server.model('echo').infer({ inputs: { INPUT0: row } });
    const before = await server.model('echo').statistics();
    expect(await firstValueFrom(answers$.pipe(toArray()))).toHaveLength(1);
    expect(await firstValueFrom(answers$.pipe(toArray()))).toHaveLength(1);
    const after = await server.model('echo').statistics();
    expect((after[0]?.inference_count ?? 0) - (before[0]?.inference_count ?? 0)).toBe(2);
  });

  it('names what an answer has where it lacks an output', async () => {
    const answer = await server.model('echo').inferOnce({ inputs: { INPUT0: row } });
    expect(() => answer.tensor('SUM')).toThrow("model 'echo' gave no output 'SUM'; it gave 'OUTPUT0'");
  });
});

describe('a fault', () => {
  it.each([
    ['no such model', 'nobody', '', { INPUT0: row }, 'NOT_FOUND'],
    ['no such version', 'echo', '7', { INPUT0: row }, 'NOT_FOUND'],
    ['no version', 'echo', 'x', { INPUT0: row }, 'INVALID_ARGUMENT'],
    ['an input that the model has not', 'echo', '', { OTHER: row }, 'INVALID_ARGUMENT'],
    ['no input', 'echo', '', {}, 'INVALID_ARGUMENT'],
    ['a shape that the values do not fill', 'echo', '', { INPUT0: { shape: [1, 3], values: [1, 2] } }, 'INVALID_ARGUMENT'],
    ['a text among numbers', 'echo', '', { INPUT0: { shape: [1, 1], values: ['one'] } }, 'INVALID_ARGUMENT'],
    ['another datatype', 'echo', '', { INPUT0: { shape: [1, 1], values: [1], datatype: 'INT32' as const } }, 'INVALID_ARGUMENT'],
    ['more rows than the model takes', 'echo', '', { INPUT0: { shape: [9, 1], values: new Float32Array(9) } }, 'INVALID_ARGUMENT'],
  ])('is an InferError for %s', async (_what, name, version, inputs, code) => {
    expect(await codeOf(server.model(name, version).inferOnce({ inputs }))).toBe(code);
  });
});

describe('cancelling', () => {
  it('is unsubscribing', async () => {
    const running = server
      .model('slow')
      .infer({ inputs: { INPUT0: row } })
      .subscribe();
    await inFlight('slow', 1);
    running.unsubscribe();
    await inFlight('slow', 0);
  });

  it('is the signal of a promise, with its reason', async () => {
    const stop = new AbortController();
    const answer = server.model('slow').inferOnce({ inputs: { INPUT0: row } }, { signal: stop.signal });
    const reason = new Error('no longer wanted');
    await inFlight('slow', 1);
    stop.abort(reason);
    await expect(answer).rejects.toBe(reason);
    await inFlight('slow', 0);
  });

  it('happens before the request where the signal has aborted already', async () => {
    const answer = server.model('slow').inferOnce({ inputs: { INPUT0: row } }, { signal: AbortSignal.abort('too late') });
    await expect(answer).rejects.toBe('too late');
    await inFlight('slow', 0);
  });
});

describe('looking', () => {
  it('tells what the front ends tell', async () => {
    expect(server.isReady()).toBe(true);
    expect(server.metadata()).toMatchObject({ name: 'embedded' });
    expect((await server.index()).map(({ name, state }) => `${name} ${state}`)).toEqual(['echo READY', 'slow READY', 'text READY']);
    expect(server.model('echo').metadata()).toMatchObject({ name: 'echo', inputs: [{ name: 'INPUT0', shape: [-1, -1] }] });
    expect(server.model('echo').config()).toMatchObject({ name: 'echo', max_batch_size: 8 });
    expect(server.model('echo').isReady()).toBe(true);
    expect(server.model('nobody').isReady()).toBe(false);
    expect((await server.statistics()).map(({ name }) => name)).toEqual(['echo', 'slow', 'text']);
    expect(await server.metrics()).toMatch(/^nv_model_load_duration_secs\{model="echo",version="1"\} \d/m);
    expect(await server.metrics()).toContain('weir_model_queue_limit{model="echo",stage="queue",version="1"} 16384');
  });

  it('says that no port is open, when none was asked for', () => {
    expect(server.ports).toEqual({ http: undefined, grpc: undefined, metrics: undefined });
  });
});

describe('start and close', () => {
  it('opens the ports that are asked for, and closes them', async () => {
    const open = await Server.start({ modelRepository: models.path, http: { address: '127.0.0.1', port: 0 }, metrics: { port: 0 } });
    expect(open.ports).toEqual({ http: expect.any(Number), grpc: undefined, metrics: expect.any(Number) });
    const url = `http://127.0.0.1:${open.ports.http}/v2/health/ready`;
    expect((await fetch(url)).status).toBe(200);
    await open.close();
    await expect(fetch(url)).rejects.toThrow();
  });

  it('refuses work after the beginning of its end, and answers what had begun', async () => {
    await using other = await modelRepository({ brief: identityConfig(200) });
    const closing = await Server.start({ modelRepository: other.path });
    const begun = closing.model('brief').inferOnce({ inputs: { INPUT0: row } });
    const closed = closing.close();
    expect(closing.close()).toBe(closed);
    expect(closing.isReady()).toBe(false);
    expect(await codeOf(closing.model('brief').inferOnce({ inputs: { INPUT0: row } }))).toBe('UNAVAILABLE');
    expect((await begun).values('OUTPUT0')).toEqual(Float32Array.of(1.5, 2.5));
    await closed;
  });

  it('rejects when what had begun did not end in time', async () => {
    const hurried = await Server.start({ modelRepository: models.path, exitTimeoutSeconds: 0 });
    const begun = codeOf(hurried.model('slow').inferOnce({ inputs: { INPUT0: row } }));
    await expect(hurried.close()).rejects.toThrow('Exit timeout expired. Exiting immediately.');
    expect(await begun).toBe('UNAVAILABLE');
  });

  it('rejects with the reason when a model does not load', async () => {
    await using faulty = await modelRepository({ echo: identityConfig(), broken: 'max_batch_size: -1' });
    const start = Server.start({ modelRepository: faulty.path, log: { error: false } });
    await expect(start).rejects.toThrow('creating server: Internal - failed to load all models');
    await expect(start).rejects.toBeInstanceOf(StartError);
  });

  it('serves the rest when it may', async () => {
    await using faulty = await modelRepository({ echo: identityConfig(), broken: 'max_batch_size: -1' });
    await using rest = await Server.start({ modelRepository: faulty.path, log: { error: false }, models: { exitOnError: false } });
    expect(rest.isReady()).toBe(false);
    expect((await rest.index()).map(({ name, state }) => [name, state])).toEqual([
      ['broken', 'UNAVAILABLE'],
      ['echo', 'READY'],
    ]);
    expect((await rest.model('echo').inferOnce({ inputs: { INPUT0: row } })).values('OUTPUT0')).toHaveLength(2);
  });

  it('rejects when a port is taken, and has closed the others', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const bound = taken.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    const start = Server.start({
      modelRepository: models.path,
      grpc: { address: '127.0.0.1', port: 0 },
      http: { address: '127.0.0.1', port },
    });
    await expect(start).rejects.toThrow(`failed to start HTTP service: Unavailable - Socket '127.0.0.1:${port}' already in use `);
    taken.close();
  });

  it('ends a start when told to', async () => {
    const start = Server.start({ modelRepository: models.path, signal: AbortSignal.abort() });
    await expect(start).rejects.toThrow('creating server: stopped while models were loading');
  });
});
