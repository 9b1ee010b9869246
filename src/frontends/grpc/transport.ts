import { Duplex } from 'node:stream';
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type protobuf from 'protobufjs';
import type { Outgoing } from './outgoing.ts';
import type { CallStatus } from './status.ts';

/** What a call can do: the part of grpc-js that the rest of this folder sees. */
export interface Call {
  /** Asks for one more message or the end of them. */
  startRead(): void;
  /**
   * Sends a message after those sent before. It asks for the bytes before it returns. `onSent` is called when the client's flow control has let
   * all of it through, and never once the call is over.
   */
  sendMessage(message: Outgoing, onSent: () => void): void;
  /** Ends the call after what was sent. */
  sendStatus(status: CallStatus): void;
  /** Address and port of the client. */
  getPeer(): string;
  /** Milliseconds since 1970, `Infinity` for none. */
  getDeadline(): Date | number;
}

/** What happens to a call, in this order; `onCancel` last, when the call is over, whichever way it ended. */
export interface CallListener {
  onReceiveMetadata(metadata: Metadata): void;
  onReceiveMessage(message: Buffer): void;
  onReceiveHalfClose(): void;
  onCancel(): void;
}

export type Serve = (call: Call) => CallListener;

function destroy(this: Duplex): void {
  this.destroy();
}

/**
 * The library knows by `close` of its stream that a call is over. When a client cuts a connection amid many calls, Node now and then says `aborted` of a stream and
 * never `close`, until the server writes to it: a model that is silent would not hear that its caller has gone, and the connection would stay.
 */
const endWhenAborted = (call: object): void => {
  if ('stream' in call && call.stream instanceof Duplex) call.stream.once('aborted', destroy);
};

/**
 * Calls answered by listeners of our own, message by message. The library's handlers read up to 16 messages ahead, however large, and buffer
 * as many before their `write` says no; taken at the interceptor a call reads when it is asked to and tells when a message has gone.
 */
class ServedCall extends ServerInterceptingCall {
  readonly #call: ConstructorParameters<typeof ServerInterceptingCall>[0];
  readonly #serve: Serve;

  constructor(call: ConstructorParameters<typeof ServerInterceptingCall>[0], serve: Serve) {
    super(call);
    this.#call = call;
    this.#serve = serve;
  }

  override start(): void {
    endWhenAborted(this.#call);
    this.#call.start(this.#serve(this.#call));
  }
}

/** Routes calls by their path (`/package.Service/Method`). */
export const serveCalls =
  (routes: ReadonlyMap<string, Serve>): ServerInterceptor =>
  (method, call) => {
    const serve = routes.get(method.path);
    return serve === undefined ? new ServerInterceptingCall(call) : new ServedCall(call, serve);
  };

export const methodPath = (method: protobuf.Method): string => `/${method.parent?.fullName.slice(1)}/${method.name}`;

/** A service whose messages pass as bytes. */
export const passThroughDefinition = (service: protobuf.Service): ServiceDefinition<UntypedServiceImplementation> =>
  Object.fromEntries(
    service.methodsArray.map((method) => [
      method.name,
      {
        path: methodPath(method),
        requestStream: method.requestStream === true,
        responseStream: method.responseStream === true,
        requestSerialize: (message) => message,
        requestDeserialize: (bytes) => bytes,
        // Not a Buffer always: grpc-js wants its length and has it copied behind the frame's header, which is what `Outgoing` is.
        responseSerialize: (message) => message,
        responseDeserialize: (bytes) => bytes,
      },
    ]),
  );
