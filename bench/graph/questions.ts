import type { InferRequest } from '../../src/streams/inference/request.ts';
import { makeRequest } from './echo-spec.ts';

/** What one caller asks, one request after the answer to the other. */
export type Questions = (caller: number) => () => InferRequest;

/** The same again and again. */
export const echoQuestions: Questions = (caller) => {
  const request = makeRequest(String(caller));
  return () => request;
};

const stepsOfSequence = 100;
const mostCallers = 1024;

/** Sequences of a hundred steps, each with an id of its own. */
export const stepQuestions: Questions = (caller) => {
  const common = { ...makeRequest(String(caller)), modelName: 'steps' };
  let sequence = 0;
  let step = stepsOfSequence;
  let middle = common;
  return () => {
    if (step === stepsOfSequence) {
      step = 0;
      sequence++;
      middle = { ...common, sequenceId: BigInt(sequence * mostCallers + caller) };
    }
    step++;
    if (step === 1) return { ...middle, sequenceStart: true };
    return step === stepsOfSequence ? { ...middle, sequenceEnd: true } : middle;
  };
};
