/** What the `vad` model takes at each step and hands on to the next. */
export const chunkSamples = 512;
export const contextSamples = 64;
export const stateValues = 2 * 128;

export interface Step {
  /** Probability that the chunk holds speech. */
  readonly speech: number;
  readonly context: Float32Array;
  readonly state: Float32Array;
}

/** Runs one chunk of sound with what the step before handed on. */
export type Detect = (audio: Float32Array, context: Float32Array, state: Float32Array) => Promise<Step>;

/** Sends the chunks one after another, each with the state of the one before, and tells of each probability as it comes. */
export const detectSpeech = async (samples: Float32Array, detect: Detect, onStep: (speech: number) => void): Promise<readonly number[]> => {
  const probabilities: number[] = [];
  let context: Float32Array = new Float32Array(contextSamples);
  let state: Float32Array = new Float32Array(stateValues);
  for (let at = 0; at + chunkSamples <= samples.length; at += chunkSamples) {
    const step = await detect(samples.subarray(at, at + chunkSamples), context, state);
    ({ context, state } = step);
    probabilities.push(step.speech);
    onStep(step.speech);
  }
  return probabilities;
};

export interface Segment {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

const chunkSeconds = chunkSamples / 16_000;

/** Where speech is: it begins above 0.5 and ends when the probability has stayed below 0.35 for a tenth of a second. */
export const speechSegments = (probabilities: readonly number[]): readonly Segment[] => {
  const segments: Segment[] = [];
  const patience = Math.ceil(0.1 / chunkSeconds);
  let start: number | undefined;
  let quiet = 0;
  probabilities.forEach((speech, chunk) => {
    if (start === undefined) {
      if (speech > 0.5) [start, quiet] = [chunk, 0];
      return;
    }
    quiet = speech < 0.35 ? quiet + 1 : 0;
    if (quiet < patience) return;
    segments.push({ startSeconds: start * chunkSeconds, endSeconds: (chunk + 1 - quiet) * chunkSeconds });
    start = undefined;
  });
  if (start !== undefined) segments.push({ startSeconds: start * chunkSeconds, endSeconds: probabilities.length * chunkSeconds });
  return segments;
};
