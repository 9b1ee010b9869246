import { join } from 'node:path';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { chunkSamples, contextSamples, type Detect } from './speech.ts';

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
  readonly infer_response: { readonly outputs: readonly { readonly name: string }[]; readonly raw_output_contents: readonly Uint8Array[] };
}

const asBytes = (values: Float32Array): Buffer => Buffer.from(values.buffer, values.byteOffset, values.byteLength);
const asFloats = (bytes: Uint8Array): Float32Array => new Float32Array(Uint8Array.from(bytes).buffer);

/** A `vad` client over one bidirectional stream (`ModelStreamInfer`). */
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

  const detect: Detect = async (audio, context, state) => {
    const answer = new Promise<object>((resolve) => stream.once('data', resolve));
    stream.write({
      model_name: 'vad',
      inputs: [
        { name: 'AUDIO', datatype: 'FP32', shape: [1, chunkSamples] },
        { name: 'CONTEXT', datatype: 'FP32', shape: [1, contextSamples] },
        { name: 'STATE', datatype: 'FP32', shape: [1, 2, 128] },
      ],
      raw_input_contents: [audio, context, state].map(asBytes),
    });
    const { error_message, infer_response } = (await Promise.race([answer, ended])) as StreamAnswer;
    if (error_message !== '') throw new Error(error_message);
    const output = (name: string): Float32Array => {
      const bytes = infer_response.raw_output_contents[infer_response.outputs.findIndex((tensor) => tensor.name === name)];
      if (bytes === undefined) throw new Error(`the answer lacks ${name}`);
      return asFloats(bytes);
    };
    return { speech: output('SPEECH')[0] ?? Number.NaN, context: output('CONTEXT_OUT'), state: output('STATE_OUT') };
  };
  return {
    detect,
    close: () => {
      stream.end();
      client.close();
    },
  };
};
