import type { ModelIndexEntry } from '../streams/inference/data-plane.ts';

const titles = ['Model', 'Version', 'Status', 'Reason'];

/** The lines of a table of models, ruled as Triton rules its own. A reason that has lines of its own is joined into one. */
export const modelTable = (models: readonly ModelIndexEntry[]): readonly string[] => {
  const rows = models.map(({ name, version, state, reason }) => [
    name,
    version ?? '-',
    state ?? 'UNAVAILABLE',
    (reason ?? '').replaceAll(/\s*\n\s*/g, ' '),
  ]);
  const widths = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const rule = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+`;
  const line = (cells: readonly string[]): string => `|${cells.map((cell, column) => ` ${cell.padEnd(widths[column] ?? 0)} `).join('|')}|`;
  return [rule, line(titles), rule, ...rows.map(line), rule];
};
