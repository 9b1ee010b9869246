const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Whether arrays and objects in the JSON text nest deeper than `limit`. Looks before anything is parsed: each open level costs the parser
 * memory. Most documents have fewer brackets than `limit`, which is known after a handful of native searches.
 */
export const nestsDeeperThan = (bytes: Buffer, start: number, end: number, limit: number): boolean => {
  const document = bytes.subarray(start, end);
  if (countUpTo(document, openBracket, limit) + countUpTo(document, openBrace, limit) <= limit) return false;
  let depth = 0;
  for (let index = start; index < end; index++) {
    const byte = bytes[index];
    if (byte === openBracket || byte === openBrace) {
      depth++;
      if (depth > limit) return true;
    } else if (byte === closeBracket || byte === closeBrace) depth--;
    else if (byte === quote) index = endOfString(bytes, index, end);
  }
  return false;
};

const countUpTo = (bytes: Buffer, byte: number, limit: number): number => {
  let count = 0;
  for (let at = bytes.indexOf(byte); at !== -1 && count <= limit; at = bytes.indexOf(byte, at + 1)) count++;
  return count;
};

const endOfString = (bytes: Buffer, opening: number, end: number): number => {
  let index = opening + 1;
  while (index < end && bytes[index] !== quote) index += bytes[index] === backslash ? 2 : 1;
  return index;
};
