import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Runs a full collection, in a turn of its own: a WeakRef keeps its object for the rest of the turn that made it. */
export const collectGarbage = async (): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve));
  collect();
};
