import { parseArgs } from 'node:util';
import { backends } from './backends.ts';
import type { Bench, BenchOptions } from './bench.ts';
import { cache } from './cache.ts';
import { cycles } from './cycles.ts';
import { ensembles } from './ensembles.ts';
import { graph } from './graph.ts';
import { identity } from './identity.ts';
import { large } from './large.ts';
import { peers } from './peers.ts';
import { peersPython } from './peers-python.ts';
import { record } from './record.ts';
import { sequences } from './sequences.ts';
import { soak } from './soak.ts';
import { vad } from './vad.ts';
import { waiting } from './waiting.ts';

const benches: Readonly<Record<string, Bench>> = {
  identity,
  vad,
  large,
  graph,
  waiting,
  cache,
  sequences,
  ensembles,
  backends,
  peers,
  'peers-python': peersPython,
  soak,
  cycles,
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    minutes: { type: 'string' },
    only: { type: 'string' },
    print: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const usage = [
  'npm run bench -- [NAME...] [--rounds=N] [--seconds=S] [--minutes=M] [--only=A,B] [--print]',
  '',
  ...Object.entries(benches).map(([name, { about, isDefault }]) => `  ${name.padEnd(13)}${about}${isDefault ? '' : ' (only when named)'}`),
  '',
  '--print leaves RESULTS.md as it is.',
].join('\n');

/** @throws RangeError */
const numberOf = (name: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!(number > 0)) throw new RangeError(`--${name}=${text} is no number above 0`);
  return number;
};

const options: BenchOptions = {
  rounds: numberOf('rounds', values.rounds),
  seconds: numberOf('seconds', values.seconds),
  minutes: numberOf('minutes', values.minutes),
  only: values.only?.split(',') ?? [],
};

const run = async (bench: Bench): Promise<void> => {
  const { section, faults } = await bench.run(options);
  if (section !== undefined) {
    console.log(`${section}\n`);
    if (!values.print) record(section);
  }
  for (const fault of faults) console.error(`FAILED: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
};

const named = positionals.map((name) => ({ name, bench: benches[name] }));
const unknown = named.find(({ bench }) => bench === undefined);
if (values.help || unknown !== undefined) {
  if (unknown !== undefined) console.error(`no bench is called ${unknown.name}\n`);
  console.log(usage);
  process.exitCode = unknown === undefined ? 0 : 1;
} else {
  const all = Object.values(benches).filter(({ isDefault }) => isDefault);
  const chosen = named.length === 0 ? all : named.flatMap(({ bench }) => bench ?? []);
  for (const bench of chosen) await run(bench);
}
