import { onTestFinished } from 'vitest';
import type { Chunk } from '../../../examples/clients/speech.ts';
import { type Fields, GrpcClient } from '../../frontends/grpc/support/client.ts';
import { connectClient } from '../../frontends/websocket/support/client.ts';

/** One client's stream of sound to the voice detector. */
export interface Line {
  /** The probability of speech; rejects with the server's error message. One at a time. */
  say(chunk: Chunk): Promise<number>;
  /** Goes away in the middle, without a word. */
  hangUp(): void;
  close(): Promise<void>;
}

const asBytes = ({ samples }: Chunk): Buffer => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const speechIn = ({ error_message: error, infer_response: response }: Fields): number => {
  if (error !== '') throw new Error(String(error));
  const contents = isFields(response) ? response.raw_output_contents : undefined;
  const bytes: unknown = Array.isArray(contents) && contents.length === 1 ? contents[0] : undefined;
  if (!(bytes instanceof Uint8Array)) throw new Error('the answer has not one output');
  return Buffer.from(bytes).readFloatLE(0);
};

/** A bidirectional stream over gRPC. */
export const grpcLine = async (client: GrpcClient, sequenceId: number): Promise<Line> => {
  const stream = client.stream();
  let said = 0;
  return {
    say: async (chunk) => {
      stream.send({
        model_name: 'vad',
        parameters: {
          sequence_id: { int64_param: sequenceId },
          sequence_start: { bool_param: chunk.isFirst },
          sequence_end: { bool_param: chunk.isLast },
        },
        inputs: [{ name: 'AUDIO', datatype: 'FP32', shape: [1, chunk.samples.length] }],
        raw_input_contents: [asBytes(chunk)],
      });
      said++;
      const messages = await stream.received(said);
      return speechIn(messages[said - 1] ?? {});
    },
    hangUp: () => stream.call.cancel(),
    close: async () => {
      await stream.finish();
    },
  };
};

/** A client for the line of this number: they share so many connections, closed when the test ends. */
export const grpcClients = (port: number, count: number): ((line: number) => GrpcClient) => {
  const newClient = (): GrpcClient => {
    const client = new GrpcClient(port, { 'grpc.use_local_subchannel_pool': 1 });
    onTestFinished(() => client.close());
    return client;
  };
  const clients: GrpcClient[] = [];
  return (line) => {
    const client = clients[line % count] ?? newClient();
    clients[line % count] = client;
    return client;
  };
};

/** A connection over WebSocket, with binary frames. */
export const webSocketLine = async (port: number, sequenceId: number): Promise<Line> => {
  const client = await connectClient(`ws://127.0.0.1:${port}/v2/models/vad/stream`, ['weir.v2.binary']);
  return {
    say: async (chunk) => {
      const { samples, isFirst, isLast } = chunk;
      const inputs = [
        { name: 'AUDIO', datatype: 'FP32', shape: [1, samples.length], parameters: { binary_data_size: samples.byteLength } },
      ];
      const parameters = { binary_data_output: true, sequence_id: sequenceId, sequence_start: isFirst, sequence_end: isLast };
      client.send({ inputs, parameters }, asBytes(chunk));
      const { json, tail } = await client.receive();
      if (json.error !== undefined) throw new Error(json.error);
      if (json.outputs.length !== 1) throw new Error('the answer has not one output');
      return tail.readFloatLE(0);
    },
    hangUp: () => client.webSocket.terminate(),
    close: async () => {
      await client.close();
    },
  };
};
