import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { elementByteSize } from '../../streams/tensors/datatype.ts';
import { AnswerTemplate } from './answer-template.ts';

/** What this front end knows of a model version's answers. */
export interface ServedAnswers {
  readonly template: AnswerTemplate;
  /** About how large one is, learned from those that came. */
  expectedBytes: number;
  /** Set with the first that came: until then the size is guessed. */
  isLearned: boolean;
}

/** Taken for a model whose outputs have no fixed size until an answer has come. */
const unknownAnswerBytes = 64 * 2 ** 10;

/** Bytes of one row of all outputs. */
const firstExpectation = ({ outputs }: ModelSpec): number => {
  let bytes = 0;
  for (const { datatype, dims } of outputs) {
    const elementBytes = elementByteSize(datatype);
    if (elementBytes === 0 || dims.some((size) => size < 0)) return unknownAnswerBytes;
    bytes += dims.reduce((product, size) => product * size, elementBytes);
  }
  return bytes;
};

export const servedAnswers = (spec: ModelSpec): ServedAnswers => ({
  template: new AnswerTemplate(spec.name, spec.version),
  expectedBytes: firstExpectation(spec),
  isLearned: false,
});

/** The first and larger answers count at once, smaller ones little by little. */
export const learnBytes = (answers: ServedAnswers, bytes: number): void => {
  if (bytes >= answers.expectedBytes || !answers.isLearned) answers.expectedBytes = bytes;
  else answers.expectedBytes -= (answers.expectedBytes - bytes) / 32;
  answers.isLearned = true;
};
