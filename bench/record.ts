import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const results = join(import.meta.dirname, 'RESULTS.md');

/** Puts a section into `RESULTS.md` in place of the one of the same title, or at the end. */
export const record = (section: string): void => {
  const title = section.slice(0, section.indexOf('\n'));
  const [head = '', ...others] = readFileSync(results, 'utf8').split(/^(?=## )/m);
  const sections = others.map((other) => other.trimEnd());
  const place = sections.findIndex((other) => other.startsWith(`${title}\n`));
  if (place >= 0) sections[place] = section;
  else sections.push(section);
  writeFileSync(results, `${[head.trimEnd(), ...sections].join('\n\n')}\n`);
};
