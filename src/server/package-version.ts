import { readFileSync } from 'node:fs';

const read = (): string => {
  // As far above the sources as above the built package.
  const file = new URL('../../package.json', import.meta.url);
  const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'));
  return version;
};

/** The version of Weir. */
export const packageVersion: string = read();
