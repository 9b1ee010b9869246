const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

export const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(columns), `|${columns.map(() => '---').join('|')}|`, ...rows.map(row)].join('\n');

/** A section of the results: what it is, how to have it again, what came of it. */
export const section = (title: string, command: string, ...parts: readonly string[]): string =>
  [`## ${title}`, `\`npm run bench -- ${command}\``, ...parts].join('\n\n');
