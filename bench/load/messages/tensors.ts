import type { Question, TensorShape } from '../load.ts';

/** The same numbers in each run: a quiet noise, as the models take it. */
const noise = (values: number): Buffer => {
  const floats = Float32Array.from({ length: values }, (_, index) => Math.sin(index * 12.9898) * 0.1);
  return Buffer.from(floats.buffer);
};

const byteLength = ({ shape }: TensorShape): number => shape.reduce((count, size) => count * size, 4);

/** Bytes of the inputs. */
export const inputBytes = ({ inputs }: Question): readonly Buffer[] => inputs.map((input) => noise(byteLength(input) / 4));

/** One output of an answer, however it came. */
export interface AnsweredTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly bytes: Buffer;
}

const tensorFault = (expected: TensorShape, input: Buffer | undefined, got: AnsweredTensor | undefined): string | undefined => {
  if (got?.name !== expected.name || got.datatype !== 'FP32') return `output ${got?.name} ${got?.datatype} for ${expected.name}`;
  if (got.shape.join() !== expected.shape.join()) return `shape ${got.shape} for ${expected.shape}`;
  if (got.bytes.length !== byteLength(expected)) return `${got.bytes.length} bytes for ${byteLength(expected)}`;
  return input === undefined || input.equals(got.bytes) ? undefined : `other bytes in ${got.name}`;
};

/** Outputs of an answer against what the question wants. `inputs` are its bytes. */
export const outputsFault = (question: Question, inputs: readonly Buffer[], got: readonly AnsweredTensor[]): string | undefined => {
  if (got.length !== question.outputs.length) return `${got.length} outputs for ${question.outputs.length}`;
  for (const [index, expected] of question.outputs.entries()) {
    const fault = tensorFault(expected, question.isIdentity ? inputs[index] : undefined, got[index]);
    if (fault !== undefined) return fault;
  }
  return undefined;
};
