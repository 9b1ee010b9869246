import type { AnswerSink, Connection } from './connection.ts';
import { GrpcStreamConnection } from './grpc-stream-connection.ts';
import { GrpcUnaryConnection } from './grpc-unary-connection.ts';
import { HttpConnection } from './http-connection.ts';
import type { Load, Protocol } from './load.ts';
import { grpcMessages } from './messages/grpc-messages.ts';
import { httpMessages, webSocketMessages } from './messages/json-messages.ts';
import type { Messages } from './messages/messages.ts';
import { WebSocketConnection } from './websocket-connection.ts';

interface Place {
  readonly load: Load;
  readonly firstSlot: number;
  /** Of its own slots. */
  readonly requests: readonly Buffer[];
  readonly sink: AnswerSink;
}

interface Speaker {
  messages(load: Load, slots: number): Messages;
  open(place: Place): Promise<Connection>;
}

const speakers: Readonly<Record<Protocol, Speaker>> = {
  'grpc-unary': {
    messages: grpcMessages,
    open: ({ load, firstSlot, requests, sink }) => GrpcUnaryConnection.open(load.port, firstSlot, requests, sink),
  },
  'grpc-stream': {
    messages: grpcMessages,
    open: ({ load, firstSlot, requests, sink }) =>
      GrpcStreamConnection.open(load.port, firstSlot, requests, load.streamsPerConnection, sink),
  },
  websocket: {
    messages: webSocketMessages,
    open: ({ load, firstSlot, requests, sink }) =>
      WebSocketConnection.open({ port: load.port, model: load.question.model, firstSlot, payloads: requests, sink }),
  },
  http: {
    messages: httpMessages,
    open: ({ load, firstSlot, requests: [request], sink }) => {
      if (request === undefined || load.perConnection !== 1) throw new Error('an HTTP connection has one request in flight');
      return HttpConnection.open(load.port, firstSlot, request, sink);
    },
  },
};

export const messagesOf = (load: Load): Messages => speakers[load.protocol].messages(load, load.connections * load.perConnection);

/** The connections of a load, one entry for each slot. */
export const openConnections = async (load: Load, { requests }: Messages, sink: AnswerSink): Promise<readonly Connection[]> => {
  const connectionOf: Connection[] = [];
  for (let firstSlot = 0; firstSlot < requests.length; firstSlot += load.perConnection) {
    const own = requests.slice(firstSlot, firstSlot + load.perConnection);
    const connection = await speakers[load.protocol].open({ load, firstSlot, requests: own, sink });
    for (const _ of own) connectionOf.push(connection);
  }
  return connectionOf;
};
