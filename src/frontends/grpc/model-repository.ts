import type { DataPlane } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import { type PlainHandlers, stringOf } from './unary-method.ts';

/** The calls about the repository; what is missing of an entry is empty. */
export const repositoryHandlers = (dataPlane: DataPlane): PlainHandlers => ({
  RepositoryIndex: async (fields) => {
    if (dataPlane.isExiting()) throw new InferError('UNAVAILABLE', 'Server not ready');
    if (stringOf(fields, 'repository_name') !== '') {
      throw new InferError('UNIMPLEMENTED', "'repository_name' specification is not supported");
    }
    return { models: await dataPlane.index(fields.ready === true) };
  },
  RepositoryModelLoad: refuseControl,
  RepositoryModelUnload: refuseControl,
});

/** The control mode is `none`; Triton's words for every mode but `explicit`. */
const refuseControl: PlainHandlers[string] = (fields) => {
  if (stringOf(fields, 'repository_name') !== '') {
    throw new InferError('UNIMPLEMENTED', "'repository_name' specification is not supported");
  }
  throw new InferError('UNAVAILABLE', 'explicit model load / unload is not allowed if polling is enabled');
};

/** Calls of Triton's service that are known and not built. */
export const unsupportedHandlers = (names: readonly string[]): PlainHandlers =>
  Object.fromEntries(
    names.map((name) => [
      name,
      () => {
        throw new InferError('UNIMPLEMENTED', `${name} is not supported by this version of Weir`);
      },
    ]),
  );
