import { join } from 'node:path';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import protobuf, { type Message, type Type } from 'protobufjs';
import type { CallCase, Outcome, StreamCase } from './case.ts';

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => join(import.meta.dirname, '..', 'proto', target);
root.loadSync('grpc_service.proto', { keepCase: true });
root.loadSync('health.proto', { keepCase: true });

const inferenceService = 'inference.GRPCInferenceService';

const methodTypes = (rpc: string): { readonly path: string; readonly request: Type; readonly response: Type } => {
  const service = root.lookupService(rpc === 'Check' ? 'grpc.health.v1.Health' : inferenceService);
  const method = service.methods[rpc];
  if (method === undefined) throw new Error(`there is no RPC ${rpc}`);
  return {
    path: `/${service.fullName.slice(1)}/${rpc}`,
    request: root.lookupType(method.requestType.includes('.') ? method.requestType : `${service.parent?.fullName}.${method.requestType}`),
    response: root.lookupType(
      method.responseType.includes('.') ? method.responseType : `${service.parent?.fullName}.${method.responseType}`,
    ),
  };
};

const plain = (type: Type, message: Message): object =>
  type.toObject(message, { longs: String, bytes: String, enums: String, defaults: true });

const failure = (error: ServiceError): Outcome => ({ status: status[error.code], details: error.details });

/** A `ModelStreamInfer` that stays open between requests. */
export interface LiveStream {
  send(request: object): void;
  /** Half-closes it. */
  end(): void;
}

export interface GrpcTarget {
  call(question: CallCase): Promise<Outcome>;
  stream(question: StreamCase): Promise<Outcome>;
  /** One `ModelInfer`. Gives its cancellation. */
  infer(request: object, onOutcome: (outcome: Outcome) => void): () => void;
  openStream(onAnswer: (answer: object) => void, onEnd: (outcome: Outcome) => void): LiveStream;
  close(): void;
}

/** One connection to a server's gRPC port, shared with nobody. */
export const connectGrpc = (port: number): GrpcTarget => {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
  });
  const ask = (rpc: string, request: object, onOutcome: (outcome: Outcome) => void): (() => void) => {
    const types = methodTypes(rpc);
    const running = client.makeUnaryRequest(
      types.path,
      (message: object) => Buffer.from(types.request.encode(types.request.fromObject(message)).finish()),
      (bytes: Buffer) => types.response.decode(bytes),
      request,
      new Metadata(),
      { deadline: Date.now() + 30_000 },
      (error, message) => onOutcome(error === null ? { status: 'OK', message: plain(types.response, message as Message) } : failure(error)),
    );
    return () => running.cancel();
  };
  const open = (metadata: Metadata, onAnswer: (answer: object) => void, onEnd: (outcome: Outcome) => void): LiveStream => {
    const types = methodTypes('ModelStreamInfer');
    const duplex = client.makeBidiStreamRequest(
      types.path,
      (message: object) => Buffer.from(types.request.encode(types.request.fromObject(message)).finish()),
      (bytes: Buffer) => types.response.decode(bytes),
      metadata,
      { deadline: Date.now() + 30_000 },
    );
    duplex.on('data', (message: Message) => onAnswer(plain(types.response, message)));
    duplex.on('error', (error: ServiceError) => onEnd(failure(error)));
    duplex.on('end', () => onEnd({ status: 'OK' }));
    return { send: (request) => duplex.write(request), end: () => duplex.end() };
  };
  const stream = ({ requests, metadata = {} }: StreamCase): Promise<Outcome> =>
    new Promise((resolve) => {
      const sent = new Metadata();
      for (const [key, value] of Object.entries(metadata)) sent.set(key, value);
      const answers: object[] = [];
      const live = open(
        sent,
        (answer) => answers.push(answer),
        (outcome) => resolve({ ...outcome, answers }),
      );
      for (const request of requests) live.send(request);
      live.end();
    });
  return {
    call: ({ rpc, request }) => new Promise((resolve) => ask(rpc, request, resolve)),
    stream,
    infer: (request, onOutcome) => ask('ModelInfer', request, onOutcome),
    openStream: (onAnswer, onEnd) => open(new Metadata(), onAnswer, onEnd),
    close: () => client.close(),
  };
};
