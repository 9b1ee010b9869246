import type { Parameters, ParameterValue } from '../../streams/inference/parameters.ts';
import type { CachedAnswer, CachedAnswers, CacheKey } from '../../streams/inference/response-cache.ts';
import { isDatatype } from '../../streams/tensors/datatype.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';

/** An entry as a hash of Redis: the key, a description of the answers, and the elements of each answer. */
export type AnswerFields = Readonly<Record<string, Buffer | undefined>>;

/** What Redis holds is not what was written: nothing of it is believed. */
const notWhole = (what: string): Error => new Error(`an entry of the redis cache is damaged: ${what}`);

type WrittenParameter = readonly [name: string, kind: string, text: string];
type WrittenOutput = readonly [name: string, datatype: string, shape: readonly number[], start: number, end: number];

const dataField = (index: number): string => `data${index}`;

/** Exact for every value, where JSON is not. */
const writeValue = (value: ParameterValue): string => (Object.is(value, -0) ? '-0' : String(value));

const writeAnswer = ({ parameters, outputs }: CachedAnswer): object => ({
  parameters: [...parameters].map(([name, value]): WrittenParameter => [name, typeof value, writeValue(value)]),
  outputs: [...outputs].map(([name, { datatype, shape, start, end }]): WrittenOutput => [name, datatype, shape, start, end]),
});

/** Fields and values by turns. The elements are not copied. */
export const writeFields = (key: CacheKey, answers: CachedAnswers): (string | Buffer)[] => [
  ...['head', Buffer.from(key.head), 'inputs', key.copyInputs(), 'answers', Buffer.from(JSON.stringify(answers.map(writeAnswer)))],
  ...answers.flatMap(({ memory }, index) => [dataField(index), memory]),
];

const readValue = (kind: unknown, text: unknown): ParameterValue => {
  if (typeof text !== 'string') throw notWhole('a parameter without value');
  if (kind === 'string') return text;
  if (kind === 'boolean') return text === 'true';
  if (kind === 'bigint') return BigInt(text);
  if (kind === 'number') return Number(text);
  throw notWhole(`a parameter of kind ${kind}`);
};

const listOf = (value: unknown, what: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw notWhole(`no list of ${what}`);
  return value;
};

const readParameters = (written: unknown): Parameters =>
  new Map(
    listOf(written, 'parameters').map((each) => {
      const [name, kind, text] = listOf(each, 'parameter fields');
      return [String(name), readValue(kind, text)];
    }),
  );

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const readOutput = (written: unknown, memory: Buffer): readonly [string, Tensor] => {
  const [name, datatype, shape, start, end] = listOf(written, 'output fields');
  if (typeof datatype !== 'string' || !isDatatype(datatype)) throw notWhole(`datatype ${datatype}`);
  const sizes = listOf(shape, 'dimensions').filter(isCount);
  if (!isCount(start) || !isCount(end) || start > end || end > memory.byteLength) throw notWhole(`an output from ${start} to ${end}`);
  return [String(name), new Tensor(datatype, sizes, memory, start, end)];
};

const readAnswer = (written: unknown, memory: Buffer | undefined): CachedAnswer => {
  if (memory === undefined || typeof written !== 'object' || written === null) throw notWhole('an answer without its elements');
  const { parameters, outputs }: { readonly parameters?: unknown; readonly outputs?: unknown } = written;
  return {
    parameters: readParameters(parameters),
    outputs: new Map(listOf(outputs, 'outputs').map((output) => readOutput(output, memory))),
    memory,
  };
};

/**
 * The answers of an entry; undefined for one of another key, or of none.
 *
 * @throws Error for one that is damaged
 */
export const readFields = (fields: AnswerFields, key: CacheKey): CachedAnswers | undefined => {
  const { head, inputs, answers } = fields;
  if (head === undefined || inputs === undefined || answers === undefined) return undefined;
  if (!key.equals(head.toString(), inputs)) return undefined;
  const written: unknown = JSON.parse(answers.toString());
  return listOf(written, 'answers').map((answer, index) => readAnswer(answer, fields[dataField(index)]));
};
