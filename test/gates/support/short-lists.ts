import type { SourceFile } from './source-file.ts';

/** What fast-check makes at most of its own accord, for a list that may be empty. */
const usualLength = 10;

const numberIn = (options: string, name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(options)?.[1] ?? 0);

/** Lists and texts whose greatest length is never tried, since no `size` asks for it. */
export const shortListFaults = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, text }) =>
    [...text.matchAll(/\{[^{}]*\bmax(?:Length|Commands): \d+[^{}]*\}/g)]
      .map(([options]) => options)
      .filter((options) => {
        const longest = Math.max(numberIn(options, 'maxLength'), numberIn(options, 'maxCommands'));
        return longest > usualLength + 2 * numberIn(options, 'minLength') && !/\bsize: 'max'/.test(options);
      })
      .map((options) => `${path}: ${options} needs size: 'max'`),
  );
