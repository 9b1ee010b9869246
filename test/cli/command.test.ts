import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GrpcClient } from '../frontends/grpc/support/client.ts';
import { connectClient } from '../frontends/websocket/support/client.ts';
import { identityConfig, type ModelRepository, modelRepository } from '../server/support/model-repository.ts';
import { slow, writeModel } from '../support/onnx-models.ts';
import { anyPorts, WeirProcess } from './weir-process.ts';

const row = JSON.stringify({ inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 2], data: [1.5, 2.5] }] });

const infer = (url: string, model: string): Promise<Response> => fetch(`${url}/v2/models/${model}/infer`, { method: 'POST', body: row });

let models: ModelRepository;

beforeAll(async () => {
  models = await modelRepository({ echo: identityConfig(), slow: identityConfig(400), endless: identityConfig(600_000) });
});
afterAll(async () => {
  await models[Symbol.asyncDispose]();
});

const serve = (...flags: readonly string[]): WeirProcess => new WeirProcess(`--model-repository=${models.path}`, ...anyPorts, ...flags);

describe('without a server', () => {
  it('prints help and ends well', async () => {
    await using weir = new WeirProcess('--help');
    expect(await weir.ended()).toBe(0);
    expect(weir.out).toMatch(/^Usage: weir \[serve\] \[options\]\n/);
    expect(weir.out).toContain('--model-repository <string>');
    expect(weir.err).toBe('');
  });

  it('prints the version', async () => {
    await using weir = new WeirProcess('--version');
    expect(await weir.ended()).toBe(0);
    expect(weir.out).toMatch(/^weir \d+\.\d+\.\d+\n$/);
  });

  it('refuses an unknown flag, with the reason last', async () => {
    await using weir = new WeirProcess('serve', '--http-prot=8000');
    expect(await weir.ended()).toBe(1);
    expect(weir.err).toMatch(/^Usage: [\s\S]*\n\nUnknown option: "--http-prot"\. Did you mean --http-port\?\n$/);
    expect(weir.out).toBe('');
  });

  it('ends when the log file cannot be written', async () => {
    await using weir = serve('--log-file=/no/such/folder/weir.log');
    expect(await weir.ended()).toBe(1);
    expect(weir.err).toMatch(/^error: cannot write the log file: ENOENT/);
  });
});

describe('start', () => {
  it('shows the models, then where it listens, then serves', async () => {
    await using weir = serve('--id=under-test', '--http-thread-count=3');
    const url = await weir.url();
    await weir.says(/Started Metrics Service at /);
    expect(weir.err).toContain('--http-thread-count has no effect');
    expect(weir.out).toMatch(/\| echo +\| 1 +\| READY +\| +\|\n/);
    expect(weir.out.search(/READY/)).toBeLessThan(weir.out.search(/Started GRPCInferenceService/));
    expect(weir.out.search(/Started GRPCInferenceService/)).toBeLessThan(weir.out.search(/Started HTTPService/));
    expect(await (await fetch(`${url}/v2`)).json()).toMatchObject({ name: 'under-test' });
    expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
    expect(await (await infer(url, 'echo')).json()).toMatchObject({ outputs: [{ name: 'OUTPUT0', data: [1.5, 2.5] }] });
    const [, port] = await weir.says(/Started Metrics Service at \S+:(\d+)"/);
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain(
      'nv_inference_request_success{model="echo",version="1"} 1',
    );
    weir.signal('SIGINT');
    expect(await weir.ended()).toBe(0);
    expect(weir.out).toContain('"Signal (2) received."');
  });

  it('opens no port that is not allowed', async () => {
    await using weir = serve('--allow-grpc=false', '--allow-metrics=off');
    await weir.url();
    weir.signal('SIGTERM');
    expect(await weir.ended()).toBe(0);
    expect(weir.out).not.toMatch(/Started (GRPC|Metrics)/);
  });

  it.each([
    ['--grpc-port', 'GRPC', 0],
    ['--http-port', 'HTTP', 1],
    ['--metrics-port', 'Metrics', 2],
  ])('says that the port of %s is taken, in one line, and stops what had started', async (flag, service, startedBefore) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const bound = other.address();
    const port = typeof bound === 'object' ? bound?.port : undefined;
    await using weir = serve(`${flag}=${port}`);
    expect(await weir.ended()).toBe(1);
    other.close();
    const line = `"failed to start ${service} service: Unavailable - Socket '127.0.0.1:${port}' already in use "`;
    expect(weir.err).toMatch(/^E[^\n]+\n$/);
    expect(weir.err).toContain(line);
    expect(weir.out.match(/Started /g) ?? []).toHaveLength(startedBefore);
    expect(weir.out).toContain("successfully unloaded 'echo' version 1");
  });

  it('does not share the port of another server', async () => {
    await using first = serve();
    const url = await first.url();
    await using second = serve(`--http-port=${new URL(url).port}`);
    expect(await second.ended()).toBe(1);
    expect(second.err).toMatch(/^E[^\n]+"failed to start HTTP service: Unavailable - Socket '127\.0\.0\.1:\d+' already in use "\n$/);
    expect((await infer(url, 'echo')).status).toBe(200);
  });
});

describe('a model that does not load', () => {
  const broken = `backend: "identity"\nmax_batch_size: -1\n`;

  it('ends the start before a port opens, and the reason is in the table', async () => {
    await using faulty = await modelRepository({ echo: identityConfig(), broken });
    await using weir = new WeirProcess(`--model-repository=${faulty.path}`, ...anyPorts);
    expect(await weir.ended()).toBe(1);
    expect(weir.err).toMatch(/(^|\n)error: creating server: Internal - failed to load all models\n$/);
    expect(weir.out).toMatch(/\| broken +\| \S+ +\| UNAVAILABLE +\| Invalid argument: [^|]+\|\n/);
    expect(weir.out).not.toContain('Started ');
  });

  it.each([
    ['true', 400],
    ['false', 200],
  ])('is left out with --exit-on-error=false; --strict-readiness=%s answers ready with %i', async (strict, status) => {
    await using faulty = await modelRepository({ echo: identityConfig(), broken });
    await using weir = new WeirProcess(
      `--model-repository=${faulty.path}`,
      '--exit-on-error=false',
      `--strict-readiness=${strict}`,
      ...anyPorts,
    );
    const url = await weir.url();
    expect((await fetch(`${url}/v2/health/ready`)).status).toBe(status);
    expect((await infer(url, 'echo')).status).toBe(200);
    weir.signal('SIGTERM');
    expect(await weir.ended()).toBe(0);
  });

  it('may be the whole repository', async () => {
    await using weir = new WeirProcess('--model-repository=/no/such/repository', ...anyPorts);
    expect(await weir.ended()).toBe(1);
    expect(weir.err).toMatch(/error: creating server: Internal - failed to stat file \/no\/such\/repository\n$/);
  });
});

describe('a signal', () => {
  it('lets what runs finish, refuses what comes, and answers not ready at once', async () => {
    await using weir = serve();
    const url = await weir.url();
    const running = Array.from({ length: 5 }, () => infer(url, 'slow'));
    await busy(weir);
    weir.signal('SIGTERM');
    weir.signal('SIGTERM');
    await weir.says(/Waiting for in-flight requests to complete/);
    expect((await fetch(`${url}/v2/health/ready`)).status).toBe(503);
    expect((await infer(url, 'echo')).status).toBe(503);
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(await weir.ended()).toBe(0);
    expect(weir.out.match(/Signal \(15\) received/g)).toHaveLength(1);
    expect(weir.out).toMatch(/Timeout 30: Found 1 model versions that have in-flight inferences/);
  });

  it('lets streams answer what they have begun, then ends them', async () => {
    await using weir = serve();
    const url = await weir.url();
    const [, grpcPort] = await weir.says(/Started GRPCInferenceService at \S+:(\d+)"/);
    const grpc = new GrpcClient(Number(grpcPort));
    const webSocket = await connectClient(`${url.replace('http', 'ws')}/v2/stream`);
    const stream = grpc.stream();
    const input = { name: 'INPUT0', datatype: 'FP32', shape: [1, 2] };
    stream.send({ model_name: 'slow', id: 'g', inputs: [{ ...input, contents: { fp32_contents: [1.5, 2.5] } }] });
    webSocket.send({ model_name: 'slow', id: 'w', inputs: [{ ...input, data: [3.5, 4.5] }] });
    await scraped(weir, /^weir_grpc_requests_in_flight 1$[\s\S]*^weir_websocket_requests_in_flight 1$/m);
    weir.signal('SIGTERM');
    expect((await webSocket.receive()).json).toMatchObject({ id: 'w', outputs: [{ data: [3.5, 4.5] }] });
    expect(await webSocket.closed).toBe(1001);
    const { messages, status } = await stream.ended;
    expect(messages).toMatchObject([{ error_message: '', infer_response: { id: 'g', model_name: 'slow' } }]);
    expect(status.details).toBe('GRPC server is shutting down and has stopped accepting new requests.');
    grpc.close();
    expect(await weir.ended()).toBe(0);
    expect(weir.err).toBe('');
  });

  it('ends the process with status 1 when work does not end in time', async () => {
    await using weir = serve('--exit-timeout-secs=1');
    const url = await weir.url();
    const cutOff = infer(url, 'endless').then(
      ({ status }) => status,
      () => 'cut off',
    );
    await busy(weir);
    weir.signal('SIGTERM');
    expect(await weir.ended()).toBe(1);
    expect(await cutOff).not.toBe(200);
    expect(weir.err).toContain('failed to stop server: Internal - Exit timeout expired. Exiting immediately.');
  });

  it('ends the process in time, though a thread is inside native code', async () => {
    await using native = await modelRepository({});
    await writeModel(native.path, 'endless', { onnx: slow({ seconds: 300 }) });
    await using weir = new WeirProcess(`--model-repository=${native.path}`, '--exit-timeout-secs=1', ...anyPorts);
    const inputs = [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 1], data: [1] }];
    const url = `${await weir.url()}/v2/models/endless/infer`;
    const cutOff = fetch(url, { method: 'POST', body: JSON.stringify({ inputs }) }).catch(() => undefined);
    await busy(weir);
    weir.signal('SIGTERM');
    expect(await weir.ended()).toBe(1);
    await cutOff;
    expect(weir.err).toContain('Exit timeout expired');
  });

  it('ends a start that is under way', async () => {
    await using weir = new WeirProcess(`--model-repository=${models.path}`, '--exit-timeout-secs=10', ...anyPorts);
    await weir.says(/loading: /);
    weir.signal('SIGTERM');
    expect(await weir.ended()).toBe(0);
    expect(weir.err).toBe('');
  });
});

/** Resolves once the text of a scrape is so. */
const scraped = async (weir: WeirProcess, pattern: RegExp): Promise<void> => {
  const [, port] = await weir.says(/Started Metrics Service at \S+:(\d+)"/);
  await expect
    .poll(async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), { interval: 10, timeout: 20_000 })
    .toMatch(pattern);
};

/** Resolves once some instance runs a batch. */
const busy = (weir: WeirProcess): Promise<void> => scraped(weir, /^weir_model_instances\{.*state="busy".*\} [1-9]/m);
