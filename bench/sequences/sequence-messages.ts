import type { Load, Question } from '../load/load.ts';
import { decodeStreamed, encodeRequest } from '../load/messages/grpc-messages.ts';
import { requestHead } from '../load/messages/json-messages.ts';
import type { Messages } from '../load/messages/messages.ts';
import { inputBytes } from '../load/messages/tensors.ts';
import type { RealTime } from './real-time.ts';

/** Of each stream one message with START, and one that goes on. */
export const slotsPerStream = 2;

/** Answers have one probability, so that their raw bytes are 4. */
const probabilityBytes = 4;

const question = (model: string): Question => ({
  model,
  inputs: [{ name: 'AUDIO', shape: [1, 512] }],
  outputs: [{ name: 'SPEECH', shape: [1, 1] }],
  isIdentity: false,
});

const probabilityFault = (bytes: Uint8Array | undefined): string | undefined => {
  if (bytes?.length !== probabilityBytes) return `a probability of ${bytes?.length} bytes`;
  const value = Buffer.from(bytes).readFloatLE();
  return value >= 0 && value <= 1 ? undefined : `a probability of ${value}`;
};

const grpcFault = (answer: Buffer): string | undefined => {
  const { error_message: error, infer_response: response } = decodeStreamed(answer);
  return error === '' ? probabilityFault(response?.raw_output_contents[0]) : error;
};

const webSocketFault = (answer: Buffer): string | undefined => {
  const end = 4 + answer.readUInt32LE(0);
  const { error }: { error?: string } = JSON.parse(answer.toString('utf8', 4, end));
  return error ?? probabilityFault(answer.subarray(end));
};

/** What each stream sends. Ids of its own for each load: the server may still wait for the streams of the last one. */
export const sequenceMessages = ({ protocol, model, streams }: RealTime): Messages => {
  const firstId = Date.now() * 1000;
  const asked = question(model);
  const contents = inputBytes(asked);
  const encode = (slot: number): Buffer => {
    const parameters = { sequence_id: firstId + Math.floor(slot / slotsPerStream), sequence_start: slot % slotsPerStream === 0 };
    if (protocol === 'grpc-stream') return encodeRequest(asked, String(slot), contents, parameters);
    const head = requestHead(asked, undefined, contents, parameters);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(head.length);
    return Buffer.concat([length, head, ...contents]);
  };
  return {
    requests: Array.from({ length: streams * slotsPerStream }, (_, slot) => encode(slot)),
    faultOf: (_slot, answer) => (protocol === 'grpc-stream' ? grpcFault(answer) : webSocketFault(answer)),
  };
};

/** The same as a load: a connection for each stream. */
export const connectionsOf = ({ protocol, port, model, streams, warmUpMs, measureMs }: RealTime): Load => ({
  protocol,
  port,
  answeredBy: 'model',
  question: question(model),
  connections: streams,
  perConnection: slotsPerStream,
  streamsPerConnection: 1,
  warmUpMs,
  measureMs,
  serverPid: 0,
  serverCore: -1,
});
