import { registerHooks } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { workerScript } from '../workers/worker-script.ts';
import { describeFault, type ModelPlace } from './describe-fault.ts';
import { type Model, ModelError } from './model-module.ts';

/**
 * Imports a model's file, in the thread that calls it: only ever a worker of its own, so that each load sees the files as they are then. `weir/backend` is
 * the server's own for all that it imports.
 *
 * Rejects with a ModelError that names the file, and where it can the line, for a file that cannot be imported or is no model.
 */
export const loadModel = async (place: ModelPlace): Promise<Model> => {
  const loaded = watchImports();
  const path = join(place.versionDirectory, place.modelFile);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(pathToFileURL(path).href);
  } catch (error) {
    throw new ModelError(describeFault(error, place, loaded), 'INTERNAL', { cause: error });
  }
  return requireModel(module, relative(place.modelDirectory, path));
};

/** The files that are imported from now on, in order. */
const watchImports = (): readonly string[] => {
  const files: string[] = [];
  const server = workerScript('model-module', import.meta.url).href;
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === 'weir/backend') return { url: server, format: 'module', shortCircuit: true };
      const resolved = next(specifier, context);
      if (resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/')) files.push(fileURLToPath(resolved.url));
      return resolved;
    },
  });
  return files;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

const isModel = (value: unknown): value is Model => isObject(value) && typeof value.execute === 'function';

const optionalMethods = ['load', 'unload', 'autoCompleteConfig'];

/** CommonJS that a compiler has made of a module has its exports one level deeper. */
const exportedModel = (module: Readonly<Record<string, unknown>>): unknown => {
  const outer = module.default ?? module.model;
  if (!isObject(outer) || outer.execute !== undefined) return outer;
  return outer.default ?? outer.model ?? outer;
};

/** @throws ModelError */
const requireModel = (module: Readonly<Record<string, unknown>>, file: string): Model => {
  const model = exportedModel(module);
  if (model === undefined)
    throw new ModelError(`${file} exports no model: expected 'export default defineModel({ … })', or an export 'model'`);
  if (!isObject(model)) throw new ModelError(`${file} exports as its model a ${typeof model}: expected 'defineModel({ … })'`);
  if (model.execute === undefined) throw new ModelError(`the model of ${file} has no 'execute'`);
  for (const name of ['execute', ...optionalMethods]) {
    if (model[name] === undefined || typeof model[name] === 'function') continue;
    throw new ModelError(`'${name}' of the model of ${file} is a ${typeof model[name]}: expected a function`);
  }
  if (!isModel(model)) throw new ModelError(`${file} exports no model`);
  return model;
};
