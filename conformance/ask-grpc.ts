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

export interface GrpcTarget {
  call(question: CallCase): Promise<Outcome>;
  stream(question: StreamCase): Promise<Outcome>;
  close(): void;
}

/** One connection to a server's gRPC port. */
export const connectGrpc = (port: number): GrpcTarget => {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.max_receive_message_length': -1 });
  const call = ({ rpc, request }: CallCase): Promise<Outcome> => {
    const types = methodTypes(rpc);
    return new Promise((resolve) => {
      client.makeUnaryRequest(
        types.path,
        (message: object) => Buffer.from(types.request.encode(types.request.fromObject(message)).finish()),
        (bytes: Buffer) => types.response.decode(bytes),
        request,
        new Metadata(),
        { deadline: Date.now() + 30_000 },
        (error, message) => resolve(error === null ? { status: 'OK', message: plain(types.response, message as Message) } : failure(error)),
      );
    });
  };
  const stream = ({ requests, metadata = {} }: StreamCase): Promise<Outcome> => {
    const types = methodTypes('ModelStreamInfer');
    const sent = new Metadata();
    for (const [key, value] of Object.entries(metadata)) sent.set(key, value);
    return new Promise((resolve) => {
      const answers: object[] = [];
      const duplex = client.makeBidiStreamRequest(
        types.path,
        (message: object) => Buffer.from(types.request.encode(types.request.fromObject(message)).finish()),
        (bytes: Buffer) => types.response.decode(bytes),
        sent,
        { deadline: Date.now() + 30_000 },
      );
      duplex.on('data', (message: Message) => answers.push(plain(types.response, message)));
      duplex.on('error', (error: ServiceError) => resolve({ ...failure(error), answers }));
      duplex.on('end', () => resolve({ status: 'OK', answers }));
      for (const request of requests) duplex.write(request);
      duplex.end();
    });
  };
  return { call, stream, close: () => client.close() };
};
