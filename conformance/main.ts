import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runQuestions } from './run-questions.ts';
import { runScenarios } from './run-scenarios.ts';
import { Tally } from './verdict.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    verbose: { type: 'boolean', default: false },
    attempts: { type: 'string', default: '3' },
  },
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const folder = mkdtempSync(join(tmpdir(), 'weir-conformance-'));
const tally = new Tally(options.verbose);

try {
  await runQuestions(options.only, folder, tally);
  await runScenarios({ only: options.only, attempts: Number(options.attempts), folder, tally });
  const idle = options.only === '' ? tally.idle() : [];
  for (const row of idle) console.log(`\nkept without need: ${row}`);
  console.log(`\n${tally.summary()}`);
  if (!tally.isClean || idle.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
