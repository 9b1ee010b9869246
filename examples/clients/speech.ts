/** Samples that the `vad` model takes at each step. */
export const chunkSamples = 512;

/** One step of a sequence. */
export interface Chunk {
  readonly samples: Float32Array;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** The probability that the chunk holds speech. The server remembers what came before it. */
export type Detect = (chunk: Chunk) => Promise<number>;

/** Sends the chunks one after another, and tells of each probability as it comes. */
export const detectSpeech = async (samples: Float32Array, detect: Detect, onStep: (speech: number) => void): Promise<readonly number[]> => {
  const probabilities: number[] = [];
  for (let at = 0; at + chunkSamples <= samples.length; at += chunkSamples) {
    const isLast = at + 2 * chunkSamples > samples.length;
    const speech = await detect({ samples: samples.subarray(at, at + chunkSamples), isFirst: at === 0, isLast });
    probabilities.push(speech);
    onStep(speech);
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
