import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { workerScript } from '../workers/worker-script.ts';
import { type Model, ModelError } from './model-module.ts';
import { textOf } from './wire-error.ts';

export interface ModelPlace {
  readonly modelDirectory: string;
  readonly versionDirectory: string;
  readonly modelFile: string;
}

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

/** @throws ModelError */
const requireModel = (module: Readonly<Record<string, unknown>>, file: string): Model => {
  const model = module.default ?? module.model;
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

/** `SyntaxError: Unexpected token ';' (1/model.ts:3)`; the files are named from the model's folder on. */
export const describeFault = (error: unknown, { modelDirectory }: ModelPlace, loaded: readonly string[]): string => {
  const place = placeOf(error, modelDirectory) ?? (error instanceof SyntaxError ? findSyntaxError(loaded, modelDirectory) : undefined);
  return place === undefined ? textOf(error) : `${textOf(error)} (${place})`;
};

/** What Node prints before the stack of a file that it cannot read, else the uppermost frame inside the model's folder. */
const placeOf = (error: unknown, directory: string): string | undefined => {
  if (!(error instanceof Error) || error.stack === undefined) return undefined;
  const head = /^(?:file:\/\/)?(\/[^\n]*|[A-Za-z]:[^\n]*):(\d+)\n/.exec(error.stack);
  if (head !== null) return `${relative(directory, head[1] ?? '')}:${head[2]}`;
  for (const [, url = '', line] of error.stack.matchAll(/(file:\/\/[^\s()]+?):(\d+):\d+/g)) {
    const path = relative(directory, fileURLToPath(url));
    if (!path.startsWith('..') && !path.includes('node_modules')) return `${path}:${line}`;
  }
  return undefined;
};

/** V8 does not say where in a JavaScript module it found the fault; the parser that strips types does, and JavaScript is TypeScript. */
const findSyntaxError = (loaded: readonly string[], directory: string): string | undefined => {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    for (const path of loaded) {
      try {
        stripTypeScriptTypes(readFileSync(path, 'utf8'), { sourceUrl: path });
      } catch (error) {
        const place = placeOf(error, directory);
        if (place !== undefined) return place;
      }
    }
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
};
