import { join } from 'node:path';
import { InferError } from '../../streams/inference/error.ts';
import { ConfigFaults } from './findings.ts';
import type { ModelConfig } from './model-config.ts';
import { emptyConfig, parseConfigText } from './parse.ts';
import type { Positions } from './positions.ts';
import { readIfThere } from './read-text.ts';

/** What the user wrote. */
export interface WrittenConfig {
  readonly config: ModelConfig;
  /** Path of the config; `''` for a model without one. */
  readonly file: string;
  readonly positions: Positions | undefined;
}

/** Triton reads the bytes of comments as they come, but no string that is not UTF-8. */
const decode = (bytes: Buffer, file: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const text = bytes.toString('utf8');
    const { index } = /"[^"\n]*\ufffd/.exec(text.replaceAll(/#[^\n]*/g, (comment) => ' '.repeat(comment.length))) ?? {};
    if (index === undefined) return text;
    const place = { line: text.slice(0, index).split('\n').length, column: 0 };
    throw new ConfigFaults([
      { severity: 'fault', field: '', text: `failed to read text proto from ${file}: invalid UTF-8 string`, file, place },
    ]);
  }
};

/**
 * Reads a model's `config.pbtxt`; an empty config where there is none, if it may be missing.
 *
 * Rejects with ConfigFaults or, for a file that cannot be read, INTERNAL.
 */
export const readConfig = async (modelDirectory: string, { mayBeMissing }: { readonly mayBeMissing: boolean }): Promise<WrittenConfig> => {
  const file = join(modelDirectory, 'config.pbtxt');
  const bytes = await readIfThere(file);
  if (bytes !== undefined) return { ...parseConfigText(decode(bytes, file), file), file };
  if (mayBeMissing) return { config: emptyConfig, file: '', positions: undefined };
  throw new InferError('INTERNAL', `failed to open text file for read ${file}: No such file or directory`);
};
