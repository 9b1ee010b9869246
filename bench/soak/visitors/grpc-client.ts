import { Client, type ClientDuplexStream, type ClientUnaryCall, credentials, type ServiceError } from '@grpc/grpc-js';

const same = (bytes: Buffer): Buffer => bytes;
const path = (method: string): string => `/inference.GRPCInferenceService/${method}`;

export interface UnaryOutcome {
  readonly error: ServiceError | null;
  readonly answer: Buffer | undefined;
}

/** A client of its own connection, which closes with it. */
export class GrpcClient implements Disposable {
  readonly #client: Client;

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
    });
  }

  /** One `ModelInfer`; `onCall` gets the call once it has begun. */
  infer(request: Buffer, onCall: (call: ClientUnaryCall) => void = () => {}): Promise<UnaryOutcome> {
    return new Promise((resolve) => {
      onCall(this.#client.makeUnaryRequest(path('ModelInfer'), same, same, request, (error, answer) => resolve({ error, answer })));
    });
  }

  stream(): ClientDuplexStream<Buffer, Buffer> {
    return this.#client.makeBidiStreamRequest(path('ModelStreamInfer'), same, same);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}
