import { parseSource, type SourceFile } from './source-file.ts';

const longest = 300;
const vagueNames = ['util', 'utils', 'helper', 'helpers', 'manager', 'common', 'base', 'misc'];

/** What others import by the package's name. */
const entryFiles = ['src/index.ts', 'src/operators.ts', 'src/backend.ts'];

const faultsOf = (file: SourceFile): readonly string[] => {
  const faults: string[] = [];
  const entries = parseSource(file).module.staticExports.flatMap((each) => each.entries);
  if (entries.some(({ exportName }) => exportName.kind === 'Default')) faults.push('has a default export');
  if (!entryFiles.includes(file.path) && entries.some(({ moduleRequest }) => moduleRequest !== null))
    faults.push("re-exports another file's names");
  const lines = file.text.split('\n').length - 1;
  if (lines > longest) faults.push(`has ${lines} lines, more than ${longest}`);
  const vague = file.path
    .replace(/\.ts$/, '')
    .split(/[/-]/)
    .find((word) => vagueNames.includes(word));
  if (vague !== undefined) faults.push(`is named ${vague}`);
  return faults.map((fault) => `${file.path} ${fault}`);
};

export const layoutFaults = (files: readonly SourceFile[]): readonly string[] => files.flatMap(faultsOf);
