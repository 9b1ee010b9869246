import { fileURLToPath } from 'node:url';
import { type CallOptions, Client, type ClientDuplexStream, credentials, Metadata, type StatusObject } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

/** Plain fields of a message, by the names in `proto/`; bytes are Buffers, 64-bit integers decimal strings. */
export type Fields = Record<string, unknown>;

const root = new protobuf.Root();
for (const file of ['grpc_service.proto', 'health.proto']) {
  root.loadSync(fileURLToPath(new URL(`../../../../proto/${file}`, import.meta.url)), { keepCase: true });
}
root.resolveAll();

export const messageType = (name: string): protobuf.Type => root.lookupType(name);

export const encode = (type: protobuf.Type, fields: Fields): Buffer => Buffer.from(type.encode(type.fromObject(fields)).finish());

export const decode = (type: protobuf.Type, bytes: Buffer): Fields =>
  type.toObject(type.decode(bytes), { defaults: true, longs: String, enums: String, oneofs: true });

const methodOf = (service: string, name: string) => {
  const method = root.lookupService(service).methods[name];
  if (!method?.resolvedRequestType || !method.resolvedResponseType) throw new Error(`no method ${name}`);
  const { resolvedRequestType: request, resolvedResponseType: response } = method;
  return {
    path: `/${service}/${name}`,
    serialize: (fields: Fields | Buffer): Buffer => (Buffer.isBuffer(fields) ? fields : encode(request, fields)),
    deserialize: (bytes: Buffer): Fields => decode(response, bytes),
  };
};

export const inferenceService = 'inference.GRPCInferenceService';

/** How a stream ended, and every message before. */
export interface StreamEnd {
  readonly messages: readonly Fields[];
  readonly status: StatusObject;
}

export class StreamClient {
  readonly call: ClientDuplexStream<Fields | Buffer, Fields>;
  readonly messages: Fields[] = [];
  readonly ended: Promise<StreamEnd>;
  #onMessage: (() => void) | undefined;

  constructor(call: ClientDuplexStream<Fields | Buffer, Fields>) {
    this.call = call;
    call.on('error', () => {});
    call.on('data', (message: Fields) => {
      this.messages.push(message);
      this.#onMessage?.();
    });
    this.ended = new Promise((resolve) => {
      call.on('status', (status) => {
        resolve({ messages: this.messages, status });
      });
    });
  }

  send(fields: Fields | Buffer): void {
    this.call.write(fields);
  }

  /** Half-closes, and waits for the end. */
  finish(): Promise<StreamEnd> {
    this.call.end();
    return this.ended;
  }

  /** Resolves with the messages once there are `count` of them. */
  async received(count: number): Promise<readonly Fields[]> {
    while (this.messages.length < count) {
      await Promise.race([
        new Promise<void>((resolve) => {
          this.#onMessage = resolve;
        }),
        this.ended.then(({ status }) => {
          if (this.messages.length < count) throw new Error(`the stream ended before: ${status.code} ${status.details}`);
        }),
      ]);
    }
    return this.messages;
  }
}

/** A grpc-js client whose messages are protobufjs's own. */
export class GrpcClient {
  readonly #client: Client;

  constructor(port: number, options: Record<string, number> = {}) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      ...options,
    });
  }

  /** Rejects with grpc-js's ServiceError: `code` and `details`. */
  call(
    name: string,
    fields: Fields | Buffer,
    metadata = new Metadata(),
    service = inferenceService,
    options: CallOptions = {},
  ): Promise<Fields> {
    const { path, serialize, deserialize } = methodOf(service, name);
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(path, serialize, deserialize, fields, metadata, options, (error, answer) => {
        if (error !== null || answer === undefined) reject(error);
        else resolve(answer);
      });
    });
  }

  infer(fields: Fields | Buffer, metadata?: Metadata): Promise<Fields> {
    return this.call('ModelInfer', fields, metadata);
  }

  /** `answer` rejects with grpc-js's ServiceError. */
  cancellable(fields: Fields): { cancel(): void; readonly answer: Promise<Fields> } {
    const { path, serialize, deserialize } = methodOf(inferenceService, 'ModelInfer');
    let cancel = (): void => {};
    const answer = new Promise<Fields>((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(path, serialize, deserialize, fields, (error, message) => {
        if (error !== null || message === undefined) reject(error);
        else resolve(message);
      });
      cancel = () => call.cancel();
    });
    return { cancel: () => cancel(), answer };
  }

  stream(metadata = new Metadata(), options: CallOptions = {}): StreamClient {
    const { path, serialize, deserialize } = methodOf(inferenceService, 'ModelStreamInfer');
    return new StreamClient(this.#client.makeBidiStreamRequest(path, serialize, deserialize, metadata, options));
  }

  close(): void {
    this.#client.close();
  }
}
