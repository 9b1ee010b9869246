import { join } from 'node:path';
import protobuf from 'protobufjs';
import type { Load, Question } from '../load.ts';
import type { Messages } from './messages.ts';
import { type AnsweredTensor, inputBytes, outputsFault } from './tensors.ts';

interface InferAnswer {
  readonly id: string;
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[];
  readonly raw_output_contents: readonly Uint8Array[];
}

interface StreamAnswer {
  readonly error_message: string;
  readonly infer_response: InferAnswer | null | undefined;
}

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => join(import.meta.dirname, '..', '..', '..', 'proto', target);
root.loadSync('grpc_service.proto', { keepCase: true });
const [requestType, answerType, streamType] = ['ModelInferRequest', 'ModelInferResponse', 'ModelStreamInferResponse'].map((name) =>
  root.lookupType(`inference.${name}`),
);

const parameterOf = (value: number | boolean): Readonly<Record<string, unknown>> =>
  typeof value === 'number' ? { int64_param: value } : { bool_param: value };

/** A `ModelInferRequest` with raw contents. */
export const encodeRequest = (
  { model, inputs }: Question,
  id: string,
  contents: readonly Buffer[],
  parameters: Readonly<Record<string, number | boolean>> = {},
): Buffer =>
  Buffer.from(
    requestType
      ?.encode({
        model_name: model,
        id,
        parameters: Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, parameterOf(value)])),
        inputs: inputs.map(({ name, shape }) => ({ name, datatype: 'FP32', shape })),
        raw_input_contents: contents,
      })
      .finish() ?? [],
  );

const toPlain = { longs: Number, defaults: true };

const plainOf = (type: protobuf.Type | undefined, bytes: Buffer) => type?.toObject(type.decode(bytes), toPlain) ?? {};

const decodeUnary = (bytes: Buffer): InferAnswer => {
  const { id, outputs, raw_output_contents } = plainOf(answerType, bytes);
  return { id, outputs, raw_output_contents };
};

/** What a stream answers; `error_message` is empty for a good answer. */
export const decodeStreamed = (bytes: Buffer): StreamAnswer => {
  const { error_message, infer_response } = plainOf(streamType, bytes);
  return { error_message, infer_response };
};

const tensorsOf = ({ outputs, raw_output_contents: contents }: InferAnswer): readonly AnsweredTensor[] =>
  outputs.map(({ name, datatype, shape }, index) => ({ name, datatype, shape, bytes: Buffer.from(contents[index] ?? []) }));

const answerFault = (question: Question, id: string, contents: readonly Buffer[], answer: InferAnswer): string | undefined =>
  answer.id === id ? outputsFault(question, contents, tensorsOf(answer)) : `the answer to ${answer.id} in place of ${id}`;

export const grpcMessages = ({ question, answeredBy, protocol }: Load, slots: number): Messages => {
  const contents = inputBytes(question);
  const requests = Array.from({ length: slots }, (_, slot) => encodeRequest(question, String(slot), contents));
  const modelFault = (slot: number, bytes: Buffer): string | undefined => {
    if (protocol === 'grpc-unary') return answerFault(question, String(slot), contents, decodeUnary(bytes));
    const { error_message: error, infer_response: answer } = decodeStreamed(bytes);
    if (error !== '' || answer === undefined || answer === null) return error === '' ? 'neither an answer nor an error' : error;
    return answerFault(question, String(slot), contents, answer);
  };
  const echoFault = (slot: number, bytes: Buffer): string | undefined =>
    requests[slot]?.equals(bytes) === true ? undefined : 'the echo sent something else back';
  return { requests, faultOf: answeredBy === 'echo' ? echoFault : modelFault };
};
