import { randomInt } from 'node:crypto';
import { WebSocket } from 'ws';
import { chunkSamples, type Detect } from './speech.ts';

const asBytes = (values: Float32Array): Buffer => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** One message of `weir.v2.binary`: the length of the JSON head, the head, the tensors' bytes. */
const encode = (head: object, tensors: readonly Buffer[]): Buffer => {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, ...tensors]);
};

/** The one value of the one output, SPEECH. */
const decode = (message: Buffer): number => {
  const tensorsStart = 4 + message.readUInt32LE(0);
  const head: { readonly error?: string } = JSON.parse(message.toString('utf8', 4, tensorsStart));
  if (head.error !== undefined) throw new Error(head.error);
  return message.readFloatLE(tensorsStart);
};

/** A `vad` client over one WebSocket, whose sound is one sequence. */
export const connectWebSocket = async (url: string): Promise<{ detect: Detect; close: () => void }> => {
  const socket = new WebSocket(`${url}/v2/models/vad/stream`, 'weir.v2.binary', { perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));

  const sequenceId = randomInt(1, 2 ** 31);
  const detect: Detect = async ({ samples, isFirst, isLast }) => {
    const inputs = [{ name: 'AUDIO', datatype: 'FP32', shape: [1, chunkSamples], parameters: { binary_data_size: samples.byteLength } }];
    const parameters = { binary_data_output: true, sequence_id: sequenceId, sequence_start: isFirst, sequence_end: isLast };
    const answer = new Promise<Buffer>((resolve, reject) => {
      socket.once('message', (data: Buffer) => resolve(data));
      socket.once('close', (code) => reject(new Error(`the server closed the connection (${code})`)));
    });
    socket.send(encode({ inputs, parameters }, [asBytes(samples)]));
    const speech = decode(await answer);
    socket.removeAllListeners('close');
    return speech;
  };
  return { detect, close: () => socket.close() };
};
