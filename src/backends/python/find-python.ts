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
  /** Removes what was unpacked for it. */
  dispose(): Promise<void>;
}

const parameterName = 'EXECUTION_ENV_PATH';
const modelDirectoryToken = '$$TRITON_MODEL_DIRECTORY';

const run = promisify(execFile);

const keep = (): Promise<void> => Promise.resolve();

/** A relative path begins in the model's folder. */
const resolvePath = (given: string, { modelDirectory }: ModelFiles): string => {
  const path = given.startsWith(modelDirectoryToken) ? modelDirectory + given.slice(modelDirectoryToken.length) : given;
  return isAbsolute(path) ? path : join(modelDirectory, path);
};

const missing = (path: string, what: string): InferError => new InferError('INVALID_ARGUMENT', `${parameterName} '${path}' ${what}`);

const unpack = async (path: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-python-'));
  try {
    await run('tar', ['-xf', path, '-C', folder]);
    return folder;
  } catch (cause) {
    await rm(folder, { recursive: true, force: true });
    throw new InferError('INVALID_ARGUMENT', `${parameterName} '${path}' is no archive that tar can unpack`, { cause });
  }
};

const inFolder = async (folder: string, given: string): Promise<Pick<Interpreter, 'command' | 'environment'>> => {
  for (const name of ['python3', 'python']) {
    const command = join(folder, 'bin', name);
    if ((await stat(command).catch(() => undefined)) === undefined) continue;
    const path = [join(folder, 'bin'), process.env.PATH ?? ''].join(delimiter);
    // What `activate` of the two kinds of environment would set.
    const libraries = [join(folder, 'lib'), ...(process.env.LD_LIBRARY_PATH === undefined ? [] : [process.env.LD_LIBRARY_PATH])].join(delimiter);
    const isConda = (await stat(join(folder, 'conda-meta')).catch(() => undefined)) !== undefined;
    const environment = isConda ? { PATH: path, CONDA_PREFIX: folder, LD_LIBRARY_PATH: libraries } : { PATH: path, VIRTUAL_ENV: folder };
    return { command, environment };
  }
  throw missing(given, 'has no bin/python3');
};

/**
 * The Python that a model's `EXECUTION_ENV_PATH` names: a venv or conda folder, or an archive of one, which is unpacked into a folder for temporary
 * files. Without it, `python3` on the PATH.
 *
 * Rejects with INVALID_ARGUMENT when it names none.
 */
export const findPython = async (files: ModelFiles, environmentPath: string | undefined): Promise<Interpreter> => {
  if (environmentPath === undefined || environmentPath === '') return { command: 'python3', environment: {}, dispose: keep };
  const path = resolvePath(environmentPath, files);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw missing(path, 'does not exist');
  if (found.isDirectory()) return { ...(await inFolder(await realpath(path), path)), dispose: keep };
  const folder = await unpack(path);
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    return { ...(await inFolder(folder, path)), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
};
