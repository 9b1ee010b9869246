import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Finding } from './findings.ts';
import { warning } from './findings.ts';
import { isInside } from './is-inside.ts';
import type { ModelConfig } from './model-config.ts';
import { unreadableFile } from './read-text.ts';

export interface Labels {
  /** By output: the label of index i at i. */
  readonly ofOutputs: readonly (readonly string[])[];
  readonly findings: readonly Finding[];
}

const linesOf = (text: string): readonly string[] => {
  const lines = text.split(/\r?\n/);
  // The end of the last line begins no other.
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
};

/** Reads the label files of a model's outputs, one label a line. A file outside the model's folder is not read. */
export const readLabels = async (config: ModelConfig, modelDirectory: string): Promise<Labels> => {
  const findings: Finding[] = [];
  const read = async (name: string, label: string, index: number): Promise<readonly string[]> => {
    if (label === '') return [];
    const field = `output[${index}].label_filename`;
    const path = resolve(modelDirectory, label);
    if (!isInside(modelDirectory, path)) {
      const text = `label file path '${path}' for output '${name}' in model '${config.name}' is outside model directory`;
      findings.push(warning(field, `${text}; it is not read`));
      return [];
    }
    try {
      return linesOf(await readFile(path, 'utf8'));
    } catch (error) {
      findings.push(unreadableFile(field, path, error));
      return [];
    }
  };
  const ofOutputs = await Promise.all(config.output.map((output, index) => read(output.name, output.label_filename, index)));
  return { ofOutputs, findings };
};
