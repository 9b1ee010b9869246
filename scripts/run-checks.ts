import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { addCounts, type Counts, countsLine, noCounts, pytestCounts, stepCounts, vitestCounts, vitestFailures } from './checks/counts.ts';
import { pythonEnvironment } from './checks/python-environment.ts';

// Every check of the project, one after the other, all of them even when one fails. `--require-python` makes it a failure that the Python
// tests cannot run; without it they are left out, and the end says so.
const root = join(import.meta.dirname, '..');
const reports = join(root, '.cache', 'checks');
const requiresPython = process.argv.includes('--require-python');

interface Step {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Where the step leaves its report, and how to read it. */
  readonly report?: { readonly file: string; readonly read: (text: string) => StepReport };
}

/** What a step says of itself: its counts, and a line for each test that failed, where its own output does not end with them. */
interface StepReport {
  readonly counts: Counts;
  readonly failures: readonly string[];
}

const tools = join(root, 'node_modules', '.bin');
const tool = (name: string): string => join(tools, name);

// Tools start the first `node` of the path, which has to be the pinned one however this script was started.
const env = { ...process.env, PATH: `${tools}${delimiter}${process.env.PATH ?? ''}` };

const vitest = (title: string, args: readonly string[]): Step => {
  const file = join(reports, `${title}.json`);
  return {
    title,
    command: tool('vitest'),
    args: ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...args],
    report: { file, read: (json) => ({ counts: vitestCounts(json), failures: vitestFailures(json, root) }) },
  };
};

const readReport = ({ report }: Step): StepReport | undefined => {
  if (report === undefined) return undefined;
  try {
    return report.read(readFileSync(report.file, 'utf8'));
  } catch {
    return { counts: noCounts, failures: [] };
  }
};

const run = (step: Step): StepReport => {
  console.log(`\n=== ${step.title}`);
  const { status, error } = spawnSync(step.command, step.args, { cwd: root, env, stdio: 'inherit' });
  if (error !== undefined) console.error(error.message);
  const report = readReport(step);
  return { counts: stepCounts(status, report?.counts), failures: report?.failures ?? [] };
};

const pythonTests = (python: string): Step => {
  const file = join(reports, 'python.xml');
  return {
    title: 'python',
    command: python,
    args: ['-m', 'pytest', join('test', 'python'), `--junit-xml=${file}`],
    report: { file, read: (xml) => ({ counts: pytestCounts(xml), failures: [] }) },
  };
};

rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });

// Before the tests, since those of Python models want it too.
console.log('\n=== python environment');
const environment = pythonEnvironment();

const steps: Step[] = [
  { title: 'lint', command: tool('biome'), args: ['ci', '--error-on-warnings', ...(process.stdout.isTTY ? [] : ['--colors=off']), '.'] },
  { title: 'types', command: tool('tsc'), args: ['--project', 'tsconfig.json'] },
  vitest('gates', ['test/gates']),
  vitest('tests', ['--exclude=test/gates/**']),
];
const ended: (StepReport & { readonly title: string })[] = steps.map((step) => ({ title: step.title, ...run(step) }));

if ('python' in environment) ended.push({ title: 'python', ...run(pythonTests(environment.python)) });
else if (requiresPython) ended.push({ title: `python (${environment.missing})`, counts: stepCounts(1, undefined), failures: [] });

console.log('\n=== summary');
// Once more, since a log is often cut to its end.
for (const { failures } of ended) for (const failure of failures) console.log(`failed  ${failure}`);
for (const { title, counts } of ended) console.log(`${counts.failed === 0 ? 'ok    ' : 'FAILED'}  ${title}: ${countsLine(counts)}`);
if ('missing' in environment && !requiresPython) {
  console.log(`\n!!! THE PYTHON TESTS WERE LEFT OUT: ${environment.missing}.\n!!! Install Python 3 with its venv module to run them.\n`);
}
const total = ended.map(({ counts }) => counts).reduce(addCounts, noCounts);
console.log(countsLine(total));
process.exitCode = total.failed === 0 ? 0 : 1;
