import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { decodeStreamed, encodeRequest } from '../../load/messages/grpc-messages.ts';
import { inputBytes } from '../../load/messages/tensors.ts';
import { vadQuestion } from '../../vad/repository.ts';
import { questions } from '../target.ts';
import { expectSame, someMs, type Visitor } from '../visitor.ts';
import { GrpcClient } from './grpc-client.ts';

const requestOf = (question: typeof questions.small): Buffer => encodeRequest(question, 'visitor', inputBytes(question));

const small = requestOf(questions.small);
const slow = requestOf(questions.slow);
const vad = requestOf(vadQuestion('vad'));
const wrongShape = requestOf({ ...questions.small, inputs: [{ name: 'INPUT0', shape: [1, 3] }] });
const unknownModel = requestOf({ ...questions.small, model: 'nobody' });
const perStream = 3;

/** Sends requests on a stream, ends it, and reads the errors of its answers, empty for good ones. */
const errorsOfStream = async (port: number, requests: readonly Buffer[]): Promise<readonly string[]> => {
  using client = new GrpcClient(port);
  const call = client.stream();
  for (const request of requests) call.write(request);
  call.end();
  const errors: string[] = [];
  for await (const bytes of call) errors.push(decodeStreamed(bytes).error_message);
  return errors;
};

const stream = (name: string, request: Buffer): Visitor => ({
  name,
  visit: async ({ grpcPort }) => {
    const errors = await errorsOfStream(
      grpcPort,
      Array.from({ length: perStream }, () => request),
    );
    expectSame('answers', perStream, errors.length);
    expectSame('errors', '', errors.join(''));
  },
});

const badStream: Visitor = {
  name: 'a bad request on a gRPC stream, then a good one',
  visit: async ({ grpcPort }) => {
    const errors = await errorsOfStream(grpcPort, [wrongShape, small]);
    expectSame('answers', 2, errors.length);
    expectSame('errors', 1, errors.filter((error) => error.includes('unexpected shape')).length);
  },
};

const cancelledStream: Visitor = {
  name: 'a gRPC stream that is cancelled',
  visit: async ({ grpcPort }) => {
    using client = new GrpcClient(grpcPort);
    const call = client.stream();
    for (let index = 0; index < perStream; index++) call.write(slow);
    setTimeout(() => call.cancel(), someMs());
    try {
      for await (const bytes of call) expectSame('error', '', decodeStreamed(bytes).error_message);
    } catch (error) {
      expectSame('status', status.CANCELLED, Reflect.get(Object(error), 'code'));
      return;
    }
    throw new Error('the stream was not cancelled');
  },
};

const cancelledCall: Visitor = {
  name: 'a gRPC call that is cancelled',
  visit: async ({ grpcPort }) => {
    using client = new GrpcClient(grpcPort);
    const { error } = await client.infer(slow, (call) => void sleep(someMs()).then(() => call.cancel()));
    // It may have been too late.
    if (error !== null) expectSame('status', status.CANCELLED, error.code);
  },
};

const bad = (name: string, request: Buffer, code: status): Visitor => ({
  name: `gRPC: ${name}`,
  visit: async ({ grpcPort }) => {
    using client = new GrpcClient(grpcPort);
    const { error } = await client.infer(request);
    expectSame('status', code, error?.code);
  },
});

export const grpcVisitors: readonly Visitor[] = [
  stream('a gRPC stream that comes and goes', small),
  stream('a gRPC stream to the voice detector', vad),
  badStream,
  cancelledStream,
  cancelledCall,
  bad('a wrong shape', wrongShape, status.INVALID_ARGUMENT),
  bad('an unknown model', unknownModel, status.NOT_FOUND),
  bad('no message at all', Buffer.from([0xff, 0xff, 0xff]), status.INTERNAL),
];
