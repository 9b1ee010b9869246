import { once } from 'node:events';
import { join } from 'node:path';
import { type handleBidiStreamingCall, Server, ServerCredentials } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { WebSocketServer } from 'ws';
import { NaiveDetector } from './naive-detector.ts';
import type { RealTime } from './real-time.ts';

// A voice detector over gRPC and WebSocket without a graph: `node bench/sequences/naive-main.ts MODEL`; prints its ports as JSON.
const detector = await NaiveDetector.open(process.argv[2] ?? '');

const proto = new protobuf.Root();
proto.resolvePath = (_origin, target) => join(import.meta.dirname, '..', '..', 'proto', target);
proto.loadSync('grpc_service.proto', { keepCase: true });
const requestType = proto.lookupType('inference.ModelInferRequest');
const answerType = proto.lookupType('inference.ModelStreamInferResponse');

interface Asked {
  readonly model: string;
  readonly id: string;
  readonly sequence: number;
  readonly isStart: boolean;
  readonly audio: Float32Array;
}

/** A copy, since a message may lie anywhere. */
const floats = (bytes: Uint8Array): Float32Array => new Float32Array(Uint8Array.from(bytes).buffer);

const decode = (bytes: Buffer): Asked => {
  const { model_name, id, parameters, raw_input_contents } = requestType.toObject(requestType.decode(bytes), { longs: Number });
  return {
    model: model_name,
    id,
    sequence: parameters.sequence_id.int64_param,
    isStart: parameters.sequence_start?.bool_param === true,
    audio: floats(raw_input_contents[0]),
  };
};

const encode = (answer: protobuf.Message): Buffer => Buffer.from(answerType.encode(answer).finish());

const stream: handleBidiStreamingCall<Asked, protobuf.Message> = (call) => {
  call.on('data', ({ model, id, sequence, isStart, audio }: Asked) => {
    detector.ask(sequence, isStart, audio, (speech) => {
      const infer_response = {
        model_name: model,
        model_version: '1',
        id,
        outputs: [{ name: 'SPEECH', datatype: 'FP32', shape: [1, 1] }],
        raw_output_contents: [Buffer.from(speech.buffer, speech.byteOffset, speech.byteLength)],
      };
      call.write(answerType.create({ infer_response }));
    });
  });
  call.on('end', () => call.end());
  call.on('error', () => {});
};

const serveGrpc = (): Promise<number> => {
  const server = new Server();
  server.addService(
    {
      ModelStreamInfer: {
        path: '/inference.GRPCInferenceService/ModelStreamInfer',
        requestStream: true,
        responseStream: true,
        requestSerialize: () => Buffer.alloc(0),
        requestDeserialize: decode,
        responseSerialize: encode,
        responseDeserialize: (bytes: Buffer) => answerType.decode(bytes),
      },
    },
    { ModelStreamInfer: stream },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => (error === null ? resolve(port) : reject(error)));
  });
};

const answerFrame = (id: string, speech: Float32Array): Buffer => {
  const outputs = [{ name: 'SPEECH', datatype: 'FP32', shape: [1, 1], parameters: { binary_data_size: speech.byteLength } }];
  const head = Buffer.from(JSON.stringify({ id, outputs }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, Buffer.from(speech.buffer, speech.byteOffset, speech.byteLength)]);
};

const serveWebSocket = async (): Promise<number> => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  server.on('connection', (socket) => {
    socket.on('message', (message: Buffer) => {
      const end = 4 + message.readUInt32LE(0);
      const { id, parameters } = JSON.parse(message.toString('utf8', 4, end));
      const audio = floats(message.subarray(end));
      detector.ask(parameters.sequence_id, parameters.sequence_start === true, audio, (speech) =>
        socket.send(answerFrame(id, speech), { binary: true }),
      );
    });
    socket.on('error', () => {});
  });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};

const ports: Readonly<Record<RealTime['protocol'], number>> = { 'grpc-stream': await serveGrpc(), websocket: await serveWebSocket() };
console.log(JSON.stringify(ports));
