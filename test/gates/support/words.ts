import type { SourceFile } from './source-file.ts';

// Written so that the patterns do not match themselves.
const forbidden: readonly (readonly [RegExp, string])[] = [
  [/(?<![\w.])\/(?:home|root|Users|work)\/[\w.]/, 'a path of one machine'],
  [/\.\.\/(?:shared)\b/, 'a path outside the project'],
];

export const wordFaults = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => forbidden.filter(([pattern]) => pattern.test(line)).map(([, what]) => `${path}:${index + 1} has ${what}`)),
  );
