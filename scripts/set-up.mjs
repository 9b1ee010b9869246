// Makes a fresh clone ready to run: packages, then the example models. Plain JavaScript, because the Node that starts it may be older than
// the one that it installs. What is there already is left alone, so the second time needs no network.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const windows = process.platform === 'win32';
const pinnedNode = join(root, 'node_modules', '.bin', windows ? 'node.cmd' : 'node');
const oldestNode = 20;

const fail = (message) => {
  console.error(`set-up: ${message}`);
  process.exit(1);
};

const run = (title, command, args) => {
  console.log(`set-up: ${title}`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', shell: windows });
  if (status !== 0) fail(`${title}: ${error === undefined ? `ended with status ${status}` : error.message}`);
};

const changedMs = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** npm writes this file at the end of an install, so it is older than a lock file that came later. */
const packagesAreCurrent = () => {
  const installed = changedMs(join(root, 'node_modules', '.package-lock.json'));
  return installed !== 0 && installed >= changedMs(join(root, 'package-lock.json')) && existsSync(pinnedNode);
};

// The built models, and what they are built from.
const models = ['simple', 'vad', 'text_line'].map((name) => join(root, 'examples', 'models', name, '1', 'model.onnx'));
const configs = ['simple', 'vad', 'text_line'].map((name) => join(root, 'examples', 'models', name, 'config.pbtxt'));

const usesMusl = () => process.platform === 'linux' && process.report.getReport().header.glibcVersionRuntime === undefined;

if (Number(process.versions.node.split('.')[0]) < oldestNode) fail(`needs Node ${oldestNode} or newer, this is ${process.version}`);
if (usesMusl())
  fail('onnxruntime-node needs glibc, and this system has another C library (Alpine?): take a Debian, Ubuntu or Fedora image');

if (!packagesAreCurrent()) run('installing packages (npm ci)', windows ? 'npm.cmd' : 'npm', ['ci', '--no-fund', '--no-audit']);
if (![...models, ...configs].every((path) => existsSync(path))) {
  run('building the example models', pinnedNode, [join(root, 'scripts', 'examples', 'build-models.ts')]);
}
