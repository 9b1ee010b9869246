import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import type { ModelFiles } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';

/** A Python, and what its process needs around it. */
export interface Interpreter {
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Whoever took it needs it no longer. */
  release(): void;
}

/** The key of a model's parameters. */
export const environmentParameter = 'EXECUTION_ENV_PATH';

const modelDirectoryToken = '$$TRITON_MODEL_DIRECTORY';

const run = promisify(execFile);

/** A relative path begins in the model's folder. */
const resolvePath = (given: string, { modelDirectory }: ModelFiles): string => {
  const path = given.startsWith(modelDirectoryToken) ? modelDirectory + given.slice(modelDirectoryToken.length) : given;
  return isAbsolute(path) ? path : join(modelDirectory, path);
};

const unusable = (path: string, what: string, cause?: unknown): InferError =>
  new InferError('INVALID_ARGUMENT', `${environmentParameter} '${path}' ${what}`, { cause });

const unpack = async (path: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-python-'));
  try {
    await run('tar', ['-xf', path, '-C', folder]);
    return folder;
  } catch (cause) {
    await rm(folder, { recursive: true, force: true });
    throw unusable(path, 'is no archive that tar can unpack', cause);
  }
};

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined;

const withFirst = (folder: string, list: string | undefined): string =>
  list === undefined || list === '' ? folder : folder + delimiter + list;

/** What `activate` of the two kinds of environment would set. */
const inFolder = async (folder: string, given: string): Promise<Omit<Interpreter, 'release'>> => {
  const candidates = ['python3', 'python'].map((name) => join(folder, 'bin', name));
  for (const command of candidates) {
    if (!(await exists(command))) continue;
    const PATH = withFirst(join(folder, 'bin'), process.env.PATH);
    if (!(await exists(join(folder, 'conda-meta')))) return { command, environment: { PATH, VIRTUAL_ENV: folder } };
    const LD_LIBRARY_PATH = withFirst(join(folder, 'lib'), process.env.LD_LIBRARY_PATH);
    return { command, environment: { PATH, CONDA_PREFIX: folder, LD_LIBRARY_PATH } };
  }
  throw unusable(given, 'has no bin/python3');
};

interface Unpacked {
  readonly folder: Promise<string>;
  users: number;
}

const onPath: Interpreter = { command: 'python3', environment: {}, release: () => undefined };

/** Finds the Python of each model; an archive is unpacked once for all that use it at the same time, into a folder for temporary files. */
export class Environments {
  /** By path, time and size of the archive. */
  readonly #unpacked = new Map<string, Unpacked>();

  /**
   * The Python that a model's `EXECUTION_ENV_PATH` names: a venv or conda folder, or an archive of one. Without it, `python3` on the PATH.
   *
   * Rejects with INVALID_ARGUMENT when it names none.
   */
  async take(files: ModelFiles, environmentPath: string | undefined): Promise<Interpreter> {
    if (environmentPath === undefined || environmentPath === '') return onPath;
    const path = resolvePath(environmentPath, files);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) throw unusable(path, 'does not exist');
    if (found.isDirectory()) return { ...(await inFolder(await realpath(path), path)), release: () => undefined };
    return this.#takeArchive(path, `${path} ${found.mtimeMs} ${found.size}`);
  }

  async #takeArchive(path: string, key: string): Promise<Interpreter> {
    const unpacked = this.#unpacked.get(key) ?? { folder: unpack(path), users: 0 };
    this.#unpacked.set(key, unpacked);
    unpacked.users++;
    let isTaken = true;
    const release = (): void => {
      if (!isTaken) return;
      isTaken = false;
      this.#leave(key, unpacked);
    };
    try {
      return { ...(await inFolder(await unpacked.folder, path)), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #leave(key: string, unpacked: Unpacked): void {
    unpacked.users--;
    if (unpacked.users > 0) return;
    this.#unpacked.delete(key);
    const remove = async (): Promise<void> => rm(await unpacked.folder, { recursive: true, force: true });
    // One that could not be unpacked has left nothing.
    remove().catch(() => undefined);
  }
}
