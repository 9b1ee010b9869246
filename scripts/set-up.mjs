// Makes a fresh clone ready to run: packages, then the example models. Plain JavaScript, because the Node that starts it may be older than
// the one that it installs. What is there already is left alone, so the second time needs no network.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagesAreCurrent } from './installed-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pinnedNode = join(root, 'node_modules', '.bin', 'node');
const oldestNode = 20;

const fail = (message) => {
  console.error(`set-up: ${message}`);
  process.exit(1);
};

const run = (title, command, args) => {
  console.log(`set-up: ${title}`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) fail(`${title}: ${error === undefined ? `ended with status ${status}` : error.message}`);
};

const sources = join(root, 'scripts', 'examples');

/** Of the files in a folder and below, in the order of their paths. */
const filesBelow = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();

/** Of everything that the example models are made from. Built from other sources, a model is not the one that the clients beside it speak to. */
const sourcesHash = () => {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  for (const file of filesBelow(sources)) hash.update(`${relative(sources, file)}\0`).update(readFileSync(file));
  return hash.digest('hex');
};

const builtFrom = join(root, '.cache', 'example-models');
const examplesExist = () => ['models/ocr/config.pbtxt', 'data/page.png'].every((file) => existsSync(join(root, 'examples', file)));

const usesMusl = () => process.platform === 'linux' && process.report.getReport().header.glibcVersionRuntime === undefined;

if (Number(process.versions.node.split('.')[0]) < oldestNode) fail(`needs Node ${oldestNode} or newer, this is ${process.version}`);
if (usesMusl())
  fail('onnxruntime-node needs glibc, and this system has another C library (Alpine?): take a Debian, Ubuntu or Fedora image');

if (!packagesAreCurrent(root) || !existsSync(pinnedNode)) run('installing packages (npm ci)', 'npm', ['ci', '--no-fund', '--no-audit']);
const wanted = sourcesHash();
if (!examplesExist() || !existsSync(builtFrom) || readFileSync(builtFrom, 'utf8') !== wanted) {
  run('building the example models', pinnedNode, [join(sources, 'build-models.ts')]);
  mkdirSync(dirname(builtFrom), { recursive: true });
  writeFileSync(builtFrom, wanted);
}
