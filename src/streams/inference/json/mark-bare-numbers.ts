interface Marked {
  readonly text: string;
  /** Number literals in `text` that stand for a bare token. */
  readonly bareNumbers: ReadonlyMap<string, number>;
}

const quoteOrToken = /["IN]/g;

/**
 * Replaces the tokens `NaN`, `Inf` and `Infinity` outside strings by literals of zero that the text does not hold otherwise, so that
 * JSON.parse takes it and a reviver can tell them by their digits. A minus sign before a token stays where it is.
 */
export const markBareNumbers = (text: string): Marked => {
  let exponent = 1;
  while (text.includes(`0e7${exponent}`) || text.includes(`0e8${exponent}`)) exponent++;
  const nan = `0e7${exponent}`;
  const infinity = `0e8${exponent}`;

  let marked = '';
  let copied = 0;
  quoteOrToken.lastIndex = 0;
  for (let found = quoteOrToken.exec(text); found !== null; found = quoteOrToken.exec(text)) {
    const at = found.index;
    if (text[at] === '"') {
      quoteOrToken.lastIndex = endOfString(text, at);
      continue;
    }
    const token = tokenAt(text, at);
    if (token === undefined) continue;
    marked += text.slice(copied, at) + (token === 'NaN' ? nan : infinity);
    copied = at + token.length;
    quoteOrToken.lastIndex = copied;
  }
  const bareNumbers = new Map([
    [nan, Number.NaN],
    [`-${nan}`, Number.NaN],
    [infinity, Number.POSITIVE_INFINITY],
    [`-${infinity}`, Number.NEGATIVE_INFINITY],
  ]);
  return { text: marked + text.slice(copied), bareNumbers };
};

export const bareTokens = ['NaN', 'Infinity', 'Inf'] as const;

/** The bare token that begins at `at`. */
export const tokenAt = (text: string, at: number): (typeof bareTokens)[number] | undefined =>
  bareTokens.find((token) => text.startsWith(token, at));

const endOfString = (text: string, opening: number): number => {
  let index = opening + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1;
  return index + 1;
};
