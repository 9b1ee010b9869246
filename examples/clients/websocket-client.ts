import { WebSocket } from 'ws';
import { chunkSamples, contextSamples, type Detect } from './speech.ts';

interface Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters?: { readonly binary_data_size: number };
}

const asBytes = (values: Float32Array): Buffer => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** One message of `weir.v2.binary`: the length of the JSON head, the head, the tensors' bytes. */
const encode = (head: object, tensors: readonly Buffer[]): Buffer => {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, ...tensors]);
};

const decode = (message: Buffer): ReadonlyMap<string, Float32Array> => {
  const tensors = new Map<string, Float32Array>();
  let at = 4 + message.readUInt32LE(0);
  const head: { error?: string; outputs?: readonly Tensor[] } = JSON.parse(message.toString('utf8', 4, at));
  if (head.error !== undefined) throw new Error(head.error);
  for (const { name, parameters } of head.outputs ?? []) {
    const size = parameters?.binary_data_size ?? 0;
    tensors.set(name, new Float32Array(Uint8Array.from(message.subarray(at, at + size)).buffer));
    at += size;
  }
  return tensors;
};

/** A `vad` client over one WebSocket. */
export const connectWebSocket = async (url: string): Promise<{ detect: Detect; close: () => void }> => {
  const socket = new WebSocket(`${url}/v2/models/vad/stream`, 'weir.v2.binary', { perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));

  const detect: Detect = async (audio, context, state) => {
    const inputs = [
      { name: 'AUDIO', datatype: 'FP32', shape: [1, chunkSamples], parameters: { binary_data_size: audio.byteLength } },
      { name: 'CONTEXT', datatype: 'FP32', shape: [1, contextSamples], parameters: { binary_data_size: context.byteLength } },
      { name: 'STATE', datatype: 'FP32', shape: [1, 2, 128], parameters: { binary_data_size: state.byteLength } },
    ];
    const answer = new Promise<Buffer>((resolve, reject) => {
      socket.once('message', (data: Buffer) => resolve(data));
      socket.once('close', (code) => reject(new Error(`the server closed the connection (${code})`)));
    });
    socket.send(encode({ inputs, parameters: { binary_data_output: true } }, [audio, context, state].map(asBytes)));
    const tensors = decode(await answer);
    socket.removeAllListeners('close');
    const [speech, nextContext, nextState] = [tensors.get('SPEECH'), tensors.get('CONTEXT_OUT'), tensors.get('STATE_OUT')];
    if (speech?.[0] === undefined || nextContext === undefined || nextState === undefined) throw new Error('the answer lacks an output');
    return { speech: speech[0], context: nextContext, state: nextState };
  };
  return { detect, close: () => socket.close() };
};
