import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { encode, type Fields, GrpcClient, messageType } from './support/client.ts';
import { DeafClient, type Window } from './support/deaf-client.ts';

const mebibyte = 2 ** 20;
const requestType = messageType('inference.ModelInferRequest');
const unaryPath = '/inference.GRPCInferenceService/ModelInfer';
const streamPath = '/inference.GRPCInferenceService/ModelStreamInfer';

interface Report {
  readonly emitted: number;
  readonly peakBytes: number;
  readonly outboxBytes: number;
  readonly requestsInFlight: number;
  readonly waitingCalls: number;
}

class MemoryServer {
  readonly #process: ChildProcess;
  readonly port: number;

  private constructor(process: ChildProcess, port: number) {
    this.#process = process;
    this.port = port;
  }

  static async start(): Promise<MemoryServer> {
    const process = fork(fileURLToPath(new URL('./support/memory-server.ts', import.meta.url)));
    const [port] = await once(process, 'message');
    return new MemoryServer(process, port);
  }

  async report(): Promise<Report> {
    this.#process.send('report');
    const [report] = await once(this.#process, 'message');
    return report;
  }

  /** Asks until something is so: each question is a turn of the server's event loop. */
  async until(isSo: (report: Report) => boolean): Promise<Report> {
    for (;;) {
      const report = await this.report();
      if (isSo(report)) return report;
    }
  }

  /** It has had its time when a hundred turns bring nothing more. */
  async settled(first: Report): Promise<Report> {
    let last = first;
    for (let turn = 0; turn < 100; turn++) {
      const report = await this.report();
      if (report.emitted !== last.emitted) turn = 0;
      last = report;
    }
    return last;
  }

  async stop(): Promise<void> {
    const exit = once(this.#process, 'exit');
    this.#process.send('stop');
    await exit;
  }
}

const message = (fields: Fields): Buffer =>
  encode(requestType, { inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1] }], raw_input_contents: [Buffer.of(1)], ...fields });

describe('a client that does not read', () => {
  let server: MemoryServer | undefined;

  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  /** A server that has answered both models once, and its memory then. */
  const warm = async (): Promise<[MemoryServer, Report]> => {
    const started = await MemoryServer.start();
    server = started;
    const client = new GrpcClient(started.port);
    await client.infer(message({ model_name: 'fill' }));
    const stream = client.stream();
    for (const model of ['stream', 'patient']) stream.send(message({ model_name: model, parameters: { count: { int64_param: 8 } } }));
    await stream.finish();
    client.close();
    return [started, await started.report()];
  };

  it.each<Window>(['default', 'huge'])('is not read either, with a %s window', async (window) => {
    const [started, before] = await warm();
    const client = await DeafClient.open(started.port, window);
    const call = client.call(streamPath);
    for (let index = 0; index < 256; index++) call.send(message({ model_name: 'fill', id: String(index) }));
    // How many it answers is up to TCP and the window.
    const last = await started.settled(await started.until(({ emitted }) => emitted > before.emitted));
    client.close();
    expect(last.emitted - before.emitted).toBeLessThan(40);
    expect(last.peakBytes - before.peakBytes).toBeLessThan(64 * mebibyte);
    const after = await started.until(({ outboxBytes }) => outboxBytes === 0);
    expect(after.requestsInFlight).toBe(0);
  });

  it('is not asked for on all of its unary calls at once', async () => {
    const [started, before] = await warm();
    const client = await DeafClient.open(started.port, 'default');
    for (let index = 0; index < 256; index++) {
      const call = client.call(unaryPath);
      call.send(message({ model_name: 'fill' }));
      call.halfClose();
    }
    // All have come when those that wait and those that are answered are as many as were sent.
    const last = await started.settled(await started.until(({ emitted, waitingCalls }) => emitted - before.emitted + waitingCalls === 256));
    client.close();
    expect(last.emitted - before.emitted).toBeLessThan(40);
    expect(last.peakBytes - before.peakBytes).toBeLessThan(64 * mebibyte);
    const after = await started.until(({ outboxBytes }) => outboxBytes === 0);
    expect(after).toMatchObject({ requestsInFlight: 0, waitingCalls: 0 });
  });

  it('makes a model wait that can, and stops it by going', async () => {
    const [started, before] = await warm();
    const client = await DeafClient.open(started.port, 'default');
    client.call(streamPath).send(message({ model_name: 'patient', parameters: { count: { int64_param: 100_000 } } }));
    const last = await started.settled(await started.until(({ outboxBytes }) => outboxBytes > 15 * mebibyte));
    expect(last.emitted - before.emitted).toBeLessThan(20_000);
    expect(last.peakBytes - before.peakBytes).toBeLessThan(64 * mebibyte);
    expect(last.requestsInFlight).toBe(1);
    client.close();
    const after = await started.settled(await started.until(({ requestsInFlight }) => requestsInFlight === 0));
    expect([after.outboxBytes, after.emitted]).toEqual([0, last.emitted]);
  });

  it('lets a model go on that waited once it reads, each of a stream in its turn', async () => {
    const [started] = await warm();
    const client = new GrpcClient(started.port);
    const stream = client.stream();
    stream.call.pause();
    const count = 20_000;
    for (const id of ['a', 'b']) stream.send(message({ model_name: 'patient', id, parameters: { count: { int64_param: count } } }));
    await started.settled(await started.until(({ outboxBytes }) => outboxBytes > 15 * mebibyte));
    stream.call.resume();
    const { messages } = await stream.finish();
    client.close();
    const ids = messages.map(({ infer_response: response }) => (response as Fields).id);
    expect([ids.length, ids.filter((id) => id === 'a').length]).toEqual([2 * count, count]);
    // The one that was first did not take all of the room that came.
    expect(ids.indexOf('b')).toBeLessThan(1000);
    expect(ids.lastIndexOf('a')).toBeGreaterThan(count);
  });

  it('gets RESOURCE_EXHAUSTED from a model that cannot wait', async () => {
    const [started, before] = await warm();
    const client = await DeafClient.open(started.port, 'default');
    client.call(streamPath).send(message({ model_name: 'stream', parameters: { count: { int64_param: 256 } } }));
    const after = await started.until(({ requestsInFlight, outboxBytes }) => requestsInFlight === 0 && outboxBytes > 0);
    client.close();
    expect(after.emitted - before.emitted).toBeLessThan(40);
    expect(after.peakBytes - before.peakBytes).toBeLessThan(64 * mebibyte);
    await started.until(({ outboxBytes }) => outboxBytes === 0);
  });
});
