import type { ModelIndexEntry } from '../streams/inference/data-plane.ts';

const titles = ['Model', 'Version', 'Status', 'Reason'];
const widestReason = 100;

/** Lines of at most `widestReason` characters, broken between words; a longer word has a line of its own. */
const wrapped = (text: string): readonly string[] => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > widestReason) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
};

/** The lines of a table of models, ruled as Triton rules its own. */
export const modelTable = (models: readonly ModelIndexEntry[]): readonly string[] => {
  const rows = models.flatMap(({ name, version, state, reason }) =>
    wrapped(reason ?? '').map((line, index) => (index === 0 ? [name, version ?? '-', state ?? 'UNAVAILABLE', line] : ['', '', '', line])),
  );
  const widths = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const rule = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+`;
  const line = (cells: readonly string[]): string => `|${cells.map((cell, column) => ` ${cell.padEnd(widths[column] ?? 0)} `).join('|')}|`;
  return [rule, line(titles), rule, ...rows.map(line), rule];
};
