/** A line of text and the mean probability of its characters, 0 for an empty one. */
export interface Line {
  readonly text: string;
  readonly score: number;
}

/**
 * Connectionist temporal classification, read greedily: the best character of each column, those that repeat once, the blank (0) not at all.
 *
 * @param alphabet the characters from 1 on
 */
export const readLine = (characters: Int32Array, probabilities: Float32Array, alphabet: readonly string[]): Line => {
  let text = '';
  let sum = 0;
  let count = 0;
  let before = 0;
  for (const [column, character] of characters.entries()) {
    if (character !== 0 && character !== before) {
      text += alphabet[character - 1] ?? '';
      sum += probabilities[column] ?? 0;
      count++;
    }
    before = character;
  }
  return { text: text.trim(), score: count === 0 ? 0 : sum / count };
};
