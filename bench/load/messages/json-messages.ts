import type { Load, Question } from '../load.ts';
import type { Messages } from './messages.ts';
import { type AnsweredTensor, inputBytes, outputsFault } from './tensors.ts';

interface AnswerHead {
  readonly id?: string;
  readonly error?: string;
  readonly outputs?: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly number[];
    readonly parameters?: { readonly binary_data_size: number };
  }[];
}

/** The JSON that stands before binary tensors. */
export const requestHead = (
  { inputs }: Question,
  id: string | undefined,
  contents: readonly Buffer[],
  parameters: Readonly<Record<string, number | boolean>> = {},
): Buffer =>
  Buffer.from(
    JSON.stringify({
      id,
      inputs: inputs.map(({ name, shape }, index) => ({
        name,
        datatype: 'FP32',
        shape,
        parameters: { binary_data_size: contents[index]?.length ?? 0 },
      })),
      parameters: { ...parameters, binary_data_output: true },
    }),
  );

const tensorsOf = ({ outputs = [] }: AnswerHead, answer: Buffer, from: number): readonly AnsweredTensor[] => {
  let at = from;
  return outputs.map(({ name, datatype, shape, parameters }) => {
    const start = at;
    at += parameters?.binary_data_size ?? 0;
    return { name, datatype, shape, bytes: answer.subarray(start, at) };
  });
};

interface Asked {
  readonly question: Question;
  readonly contents: readonly Buffer[];
  /** Undefined for an echo, which knows nothing of ids. */
  readonly id: string | undefined;
}

const answerFault = ({ question, contents, id }: Asked, answer: Buffer, jsonStart: number, jsonEnd: number): string | undefined => {
  const head: AnswerHead = JSON.parse(answer.toString('utf8', jsonStart, jsonEnd));
  if (head.error !== undefined) return head.error;
  if (id !== undefined && head.id !== id) return `the answer to ${head.id} in place of ${id}`;
  return outputsFault(question, contents, tensorsOf(head, answer, jsonEnd));
};

const httpRequest = (model: string, head: Buffer, contents: readonly Buffer[]): Buffer => {
  const length = contents.reduce((sum, bytes) => sum + bytes.length, head.length);
  const lines = [
    `POST /v2/models/${model}/infer HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/octet-stream',
    `Inference-Header-Content-Length: ${head.length}`,
    `Content-Length: ${length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), head, ...contents]);
};

export const httpMessages = ({ question, answeredBy }: Load, slots: number): Messages => {
  const contents = inputBytes(question);
  return {
    requests: Array.from({ length: slots }, (_, slot) =>
      httpRequest(question.model, requestHead(question, String(slot), contents), contents),
    ),
    faultOf: (slot, answer, jsonBytes) =>
      answerFault({ question, contents, id: answeredBy === 'echo' ? undefined : String(slot) }, answer, 0, jsonBytes),
  };
};

const lengthBytes = 4;

/** Messages of `weir.v2.binary`. */
export const webSocketMessages = ({ question, answeredBy }: Load, slots: number): Messages => {
  const contents = inputBytes(question);
  const requests = Array.from({ length: slots }, (_, slot) => {
    const head = requestHead(question, String(slot), contents);
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32LE(head.length);
    return Buffer.concat([length, head, ...contents]);
  });
  const modelFault = (slot: number, answer: Buffer): string | undefined =>
    answerFault({ question, contents, id: String(slot) }, answer, lengthBytes, lengthBytes + answer.readUInt32LE(0));
  const echoFault = (slot: number, answer: Buffer): string | undefined =>
    requests[slot]?.equals(answer) === true ? undefined : 'the echo sent something else back';
  return { requests, faultOf: answeredBy === 'echo' ? echoFault : modelFault };
};
