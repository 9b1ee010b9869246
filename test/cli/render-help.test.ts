import { expect, it } from 'vitest';
import { flagGroups } from '../../src/cli/flag.ts';
import { flags } from '../../src/cli/flags.ts';
import { renderHelp } from '../../src/cli/render-help.ts';

it('has every flag under its heading, in lines that a terminal holds', () => {
  const help = renderHelp();
  let last = -1;
  for (const group of flagGroups) {
    const at = help.indexOf(`\n${group}:\n`);
    expect(at).toBeGreaterThan(last);
    last = at;
  }
  for (const { name } of flags) expect(help).toMatch(new RegExp(`^ {2}--${name}( <|$)`, 'm'));
  for (const line of help.split('\n')) expect(line.length).toBeLessThanOrEqual(108);
});

it('says how far a flag goes', () => {
  expect(renderHelp()).toMatch(/--http-thread-count <integer>\n[^-]*No effect: one event loop/);
  expect(renderHelp()).toMatch(/--min-supported-compute-capability <float>\n[^-]*Not built yet; accepted: 0\./);
});

it('names each flag once', () => {
  const names = flags.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
