import { readFile } from 'node:fs/promises';
import { getSystemErrorMessage } from 'node:util';
import { InferError } from '../../streams/inference/error.ts';
import { type Finding, fault } from './findings.ts';

/** A file's bytes; undefined where there is no such file. Rejects with INTERNAL for one that cannot be read. */
export const readIfThere = async (path: string): Promise<Buffer | undefined> => {
  try {
    return await readFile(path);
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined;
    throw unreadable(path, error);
  }
};

interface SystemError extends Error {
  readonly code: string;
  readonly errno: number;
}

const isSystemError = (error: unknown): error is SystemError =>
  error instanceof Error && 'code' in error && 'errno' in error && typeof error.errno === 'number';

/** Triton's sentence with the system's own words, as C has them: `No such file or directory`. */
const unreadable = (path: string, error: unknown): InferError => {
  const words = isSystemError(error) ? getSystemErrorMessage(error.errno) : String(error);
  const reason = words.charAt(0).toUpperCase() + words.slice(1);
  return new InferError('INTERNAL', `failed to open text file for read ${path}: ${reason}`, { cause: error });
};

/** A file that a config names and that cannot be read. */
export const unreadableFile = (field: string, path: string, error: unknown): Finding => {
  const { code, message } = unreadable(path, error);
  return fault(field, message, { code });
};
