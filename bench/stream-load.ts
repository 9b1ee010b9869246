import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

/** Everything that one load needs; plain data, since it crosses to a worker thread. */
export interface StreamLoad {
  readonly address: string;
  readonly model: string;
  readonly streams: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** Requests answered within the measured time, and how many of all answers were errors. */
export interface StreamLoadResult {
  readonly answered: number;
  readonly failed: number;
  readonly seconds: number;
}

const loadMessages = () => {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(import.meta.dirname, '..', 'proto', target);
  root.loadSync('grpc_service.proto', { keepCase: true });
  return { request: root.lookupType('inference.ModelInferRequest'), answer: root.lookupType('inference.ModelStreamInferResponse') };
};

const noise = (values: number): Buffer => {
  const floats = Float32Array.from({ length: values }, (_, i) => Math.sin(i * 12.9898) * 0.1);
  return Buffer.from(floats.buffer);
};

/**
 * Keeps one request in flight on each of many streams, each over a connection that it shares with seven others, and counts answers. The
 * request is encoded once: what is measured is the server.
 */
export const runStreamLoad = async ({ address, model, streams, warmUpMs, measureMs }: StreamLoad): Promise<StreamLoadResult> => {
  const messages = loadMessages();
  const request = Buffer.from(
    messages.request
      .encode({
        model_name: model,
        inputs: [
          { name: 'AUDIO', datatype: 'FP32', shape: [1, 512] },
          { name: 'CONTEXT', datatype: 'FP32', shape: [1, 64] },
          { name: 'STATE', datatype: 'FP32', shape: [1, 2, 128] },
        ],
        raw_input_contents: [noise(512), noise(64), noise(256)],
      })
      .finish(),
  );
  let answered = 0;
  let failed = 0;
  let isOpen = true;
  const clients = Array.from(
    { length: Math.ceil(streams / 8) },
    (_, index) => new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1, 'weir.connection': index }),
  );
  const calls: ClientDuplexStream<Buffer, Buffer>[] = [];
  for (let index = 0; index < streams; index++) {
    const client = clients[index >> 3];
    if (client === undefined) break;
    const call = client.makeBidiStreamRequest(
      '/inference.GRPCInferenceService/ModelStreamInfer',
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
    );
    call.on('data', (bytes: Buffer) => {
      answered++;
      // One in 64 is read in full: an answer that carries an error must not count as speed.
      if (answered % 64 === 0 && Reflect.get(messages.answer.decode(bytes), 'error_message') !== '') failed++;
      if (isOpen) call.write(request);
    });
    call.on('error', () => failed++);
    call.write(request);
    calls.push(call);
  }
  await new Promise((resolve) => setTimeout(resolve, warmUpMs));
  const [before, began] = [answered, performance.now()];
  await new Promise((resolve) => setTimeout(resolve, measureMs));
  const result = { answered: answered - before, failed, seconds: (performance.now() - began) / 1000 };
  isOpen = false;
  await Promise.all(calls.map((call) => new Promise((resolve) => call.once('end', resolve).end())));
  for (const client of clients) client.close();
  return result;
};

if (parentPort !== null) parentPort.postMessage(await runStreamLoad(workerData));
