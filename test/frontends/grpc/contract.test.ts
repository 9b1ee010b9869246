import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { status } from '@grpc/grpc-js';
import { serveGrpc } from '../../../src/frontends/grpc/serve-grpc.ts';
import { toStatus } from '../../../src/frontends/grpc/transport/call-status.ts';
import { type ErrorCode, InferError } from '../../../src/streams/inference/error.ts';
import type { Listening } from '../../../src/streams/inference/front-end.ts';
import { isDatatype } from '../../../src/streams/tensors/datatype.ts';
import { frontEndContract, type Outcome, type Question, type QuestionTensor } from '../../contracts/front-end-contract.ts';
import { encode, type Fields, GrpcClient, messageType } from './support/client.ts';
import { DeafClient } from './support/deaf-client.ts';
import { RawClient } from './support/raw-client.ts';
import { grpcConfig } from './support/serving.ts';

const unaryPath = '/inference.GRPCInferenceService/ModelInfer';
const streamPath = '/inference.GRPCInferenceService/ModelStreamInfer';

const fieldsOf = ({ model, inputs }: Question): Fields => ({
  model_name: model,
  inputs: inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
  raw_input_contents: inputs.map(({ bytes }) => bytes),
});

const messageOf = (question: Question): Buffer => encode(messageType('inference.ModelInferRequest'), fieldsOf(question));

interface InferAnswer {
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly string[] }[];
  readonly raw_output_contents: readonly Buffer[];
}

const answerOf = (fields: Fields): Outcome => {
  const { outputs, raw_output_contents } = fields as unknown as InferAnswer;
  return {
    status: String(status.OK),
    message: '',
    outputs: outputs.map(({ name, datatype, shape }, index): QuestionTensor => {
      if (!isDatatype(datatype)) throw new Error(datatype);
      return { name, datatype, shape: shape.map(Number), bytes: raw_output_contents[index] ?? new Uint8Array() };
    }),
  };
};

const failureOf = ({ code, details }: { readonly code: status; readonly details: string }): Outcome => ({
  status: String(code),
  message: details,
  outputs: [],
});

const sendGarbage = async ({ port }: Listening): Promise<void> => {
  const socket = connectTcp(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  socket.end('garbage\r\n\r\n');
  await once(socket, 'close');
  const client = new RawClient(port);
  for (const path of [unaryPath, streamPath]) {
    const call = client.call(path);
    call.send(Buffer.of(0x0a, 0xff, 0xff));
    call.halfClose();
    await call.closed;
  }
  client.cut();
};

const shared = {
  statusOf: (code: ErrorCode | 'OK') => String(code === 'OK' ? status.OK : toStatus(new InferError(code, '')).code),
  open: (dataPlane: Parameters<typeof serveGrpc>[0]) => serveGrpc(dataPlane, grpcConfig()),
  sendGarbage,
};

frontEndContract({
  ...shared,
  name: 'gRPC, unary',
  connect: async ({ port }) => {
    const client = new GrpcClient(port);
    const cancels = new Set<() => void>();
    return {
      begin: (question) => {
        const { answer, cancel } = client.cancellable(fieldsOf(question));
        cancels.add(cancel);
        return { outcome: answer.then(answerOf, failureOf), cancel };
      },
      close: () => {
        for (const cancel of cancels) cancel();
        client.close();
      },
    };
  },
  readNothing: async ({ port }, question, count) => {
    const client = await DeafClient.open(port, 'default');
    for (let index = 0; index < count; index++) {
      const call = client.call(unaryPath);
      call.send(messageOf(question));
      call.halfClose();
    }
    return { leave: () => client.close() };
  },
});

/** A stream for each question. */
const askInStream = (client: GrpcClient, question: Question) => {
  const stream = client.stream();
  stream.send(fieldsOf(question));
  const outcome = stream.finish().then(({ messages: [message], status: end }) => {
    if (message === undefined) return failureOf(end);
    const { error_message, infer_response } = message;
    return { ...answerOf(infer_response as Fields), message: String(error_message) };
  });
  return { outcome, cancel: () => stream.call.cancel() };
};

frontEndContract({
  ...shared,
  name: 'gRPC, streams',
  // An error is a message of the stream, which knows no codes and ends with OK.
  statusOf: () => String(status.OK),
  connect: async ({ port }) => {
    const client = new GrpcClient(port);
    const cancels = new Set<() => void>();
    return {
      begin: (question) => {
        const begun = askInStream(client, question);
        cancels.add(begun.cancel);
        return begun;
      },
      close: () => {
        for (const cancel of cancels) cancel();
        client.close();
      },
    };
  },
  readNothing: async ({ port }, question, count) => {
    const client = await DeafClient.open(port, 'default');
    const call = client.call(streamPath);
    for (let index = 0; index < count; index++) call.send(messageOf(question));
    return { leave: () => client.close() };
  },
});
