import { StringDecoder } from 'node:string_decoder';

const longestLine = 64 * 1024;

/** Cuts what a process prints into lines; one that is longer than 64 KiB comes in pieces. */
export const outputLines = (onLine: (line: string) => void): { readonly write: (chunk: Buffer) => void; readonly end: () => void } => {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const take = (text: string): void => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line.replace(/\r$/, ''));
    while (rest.length >= longestLine) {
      onLine(rest.slice(0, longestLine));
      rest = rest.slice(longestLine);
    }
  };
  return {
    write: (chunk) => take(decoder.write(chunk)),
    end: () => {
      take(decoder.end());
      if (rest !== '') onLine(rest);
      rest = '';
    },
  };
};
