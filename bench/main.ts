import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchVad } from './vad.ts';

const benches: Readonly<Record<string, (rounds: number) => Promise<string>>> = { vad: benchVad };

const { positionals, values } = parseArgs({ allowPositionals: true, options: { rounds: { type: 'string', default: '4' } } });
const chosen = positionals.length > 0 ? positionals : Object.keys(benches);
const results = join(import.meta.dirname, 'RESULTS.md');

/** Puts a section into `RESULTS.md` in place of the one of the same title. */
const record = (section: string): void => {
  const title = section.slice(0, section.indexOf('\n'));
  const [head = '', ...others] = readFileSync(results, 'utf8').split(/^(?=## )/m);
  const kept = others.filter((other) => !other.startsWith(`${title}\n`)).map((other) => other.trimEnd());
  writeFileSync(results, `${[head.trimEnd(), ...kept, section].join('\n\n')}\n`);
};

for (const name of chosen) {
  const bench = benches[name];
  if (bench === undefined) {
    console.error(`no bench is called ${name}; there are: ${Object.keys(benches).join(', ')}`);
    process.exit(1);
  }
  const section = await bench(Number(values.rounds));
  console.log(`${section}\n`);
  record(section);
}
