import { toDocument } from './document.ts';
import { ConfigFaults } from './findings.ts';
import type { ModelConfig } from './model-config.ts';
import type { Positions } from './positions.ts';
import { positionsOf } from './positions.ts';
import { modelConfigType } from './proto.ts';
import { syntaxError } from './syntax-error.ts';

export interface ParsedConfig {
  readonly config: ModelConfig;
  readonly positions: Positions;
}

/** Characters; real configs have thousands. */
const longestText = 16 * 1024 * 1024;

// A document has what ModelConfig says: every scalar, list and map of the message, at its default where the text has none.
const asConfig = (message: object): ModelConfig => toDocument(modelConfigType, message) as unknown as ModelConfig;

/** The config of a model that has no file. */
export const emptyConfig: ModelConfig = asConfig({});

/** Reads the text of a `config.pbtxt`. @throws ConfigFaults with the file, the place and what was wanted there */
export const parseConfigText = (text: string, file: string): ParsedConfig => {
  if (text.length > longestText) {
    const finding = {
      severity: 'fault',
      field: '',
      text: `failed to read text proto from ${file}`,
      wanted: `at most ${longestText} characters`,
    };
    throw new ConfigFaults([{ ...finding, severity: 'fault', file, place: undefined }]);
  }
  const positions = positionsOf(modelConfigType, text);
  const parse = (part: string): object => modelConfigType.fromText(part);
  try {
    return { config: asConfig(parse(text)), positions };
  } catch (error) {
    const cause = error instanceof Error ? error : new Error(String(error));
    const { finding, place } = syntaxError(modelConfigType, parse, text, file, positions, cause);
    throw new ConfigFaults([{ ...finding, file, place }]);
  }
};
