import { relative, sep } from 'node:path';

/** Whether an absolute path lies below a directory. */
export const isInside = (directory: string, path: string): boolean => {
  const way = relative(directory, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`);
};
