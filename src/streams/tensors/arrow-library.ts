import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

type ArrowLibrary = typeof import('apache-arrow');

let library: ArrowLibrary | undefined;

/**
 * Apache Arrow, loaded on first use: it takes a tenth of a second and over 20 MB, in every worker thread again, and a server whose tensors
 * stay on the wire never asks for it. Resolved as `import` resolves it, so that its classes are the ones that other importers see.
 */
export const arrowLibrary = (): ArrowLibrary => {
  if (library !== undefined) return library;
  const loaded: ArrowLibrary = createRequire(import.meta.url)(fileURLToPath(import.meta.resolve('apache-arrow')));
  library = loaded;
  return loaded;
};
