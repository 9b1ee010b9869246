// Mutation testing. What it runs on is installed here when it is first wanted: hundreds of packages that nothing else needs, and that want a newer Node than
// the one which may start npm.
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { packagesAreCurrent } from '../scripts/installed-packages.mjs';

const folder = import.meta.dirname;
const root = join(folder, '..');
const env = { ...process.env, PATH: `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}` };

const run = (command, args) => {
  const { status, error } = spawnSync(command, args, { cwd: root, env, stdio: 'inherit' });
  if (error !== undefined) console.error(`mutants: ${command}: ${error.message}`);
  return status ?? 1;
};

const isInstalled = packagesAreCurrent(folder) || run('npm', ['ci', `--prefix=${folder}`]) === 0;
process.exitCode = isInstalled
  ? run(join(folder, 'node_modules', '.bin', 'stryker'), ['run', join('mutants', 'stryker.config.json'), ...process.argv.slice(2)])
  : 1;
