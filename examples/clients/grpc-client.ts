import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { chunkSamples, type Detect } from './speech.ts';

const protos = join(import.meta.dirname, '..', '..', 'proto');

/** Triton's messages, read from the same `.proto` files that any other client would be generated from. */
const loadMessages = () => {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(protos, target);
  root.loadSync('grpc_service.proto', { keepCase: true });
  return { request: root.lookupType('inference.ModelInferRequest'), response: root.lookupType('inference.ModelStreamInferResponse') };
};

interface StreamAnswer {
  readonly error_message: string;
  /** One output: SPEECH. */
  readonly infer_response: { readonly raw_output_contents: readonly Uint8Array[] };
}

const asBytes = (values: Float32Array): Buffer => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** A `vad` client over one bidirectional stream (`ModelStreamInfer`), whose sound is one sequence. */
export const connectGrpc = async (address: string): Promise<{ detect: Detect; close: () => void }> => {
  const messages = loadMessages();
  const client = new Client(address, credentials.createInsecure(), { 'grpc.max_receive_message_length': -1 });
  await new Promise<void>((resolve, reject) => client.waitForReady(Date.now() + 5_000, (error) => (error ? reject(error) : resolve())));
  const stream: ClientDuplexStream<object, object> = client.makeBidiStreamRequest(
    '/inference.GRPCInferenceService/ModelStreamInfer',
    (request: object) => Buffer.from(messages.request.encode(request).finish()),
    (bytes: Buffer) => messages.response.decode(bytes),
  );
  const ended = new Promise<never>((_, reject) => stream.once('error', reject));
  ended.catch(() => undefined);

  const sequenceId = randomInt(1, 2 ** 31);
  const detect: Detect = async ({ samples, isFirst, isLast }) => {
    const answer = new Promise<object>((resolve) => stream.once('data', resolve));
    stream.write({
      model_name: 'vad',
      parameters: {
        sequence_id: { int64_param: sequenceId },
        sequence_start: { bool_param: isFirst },
        sequence_end: { bool_param: isLast },
      },
      inputs: [{ name: 'AUDIO', datatype: 'FP32', shape: [1, chunkSamples] }],
      raw_input_contents: [asBytes(samples)],
    });
    const { error_message, infer_response } = (await Promise.race([answer, ended])) as StreamAnswer;
    if (error_message !== '') throw new Error(error_message);
    const [speech] = infer_response.raw_output_contents;
    if (speech === undefined) throw new Error('the answer lacks SPEECH');
    return Buffer.from(speech).readFloatLE(0);
  };
  return {
    detect,
    close: () => {
      stream.end();
      client.close();
    },
  };
};
