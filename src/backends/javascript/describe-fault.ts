import { readFileSync, realpathSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf } from './wire-error.ts';

export interface ModelPlace {
  readonly modelDirectory: string;
  readonly versionDirectory: string;
  readonly modelFile: string;
}

/**
 * `SyntaxError: Unexpected token ';' (1/model.ts:3)`; the files are named from the model's folder on.
 *
 * @param loaded files in which a syntax error may be that does not say where it is
 */
export const describeFault = (error: unknown, place: ModelPlace, loaded: readonly string[]): string => {
  const found = placeOf(error, place) ?? (error instanceof SyntaxError ? findSyntaxError(loaded, place) : undefined);
  return found === undefined ? textOf(error) : `${textOf(error)} (${found})`;
};

const realPath = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

/** From the model's folder on; undefined for what lies elsewhere. Node knows files by their real paths; the folder, or a version in it, may be a link. */
const pathInside = ({ modelDirectory, versionDirectory }: ModelPlace, path: string): string | undefined => {
  const roots: readonly (readonly [directory: string, name: string])[] = [
    [modelDirectory, ''],
    [realPath(modelDirectory), ''],
    [realPath(versionDirectory), basename(versionDirectory)],
  ];
  for (const [directory, name] of roots) {
    const rest = relative(directory, path);
    if (!rest.startsWith('..') && !isAbsolute(rest)) return join(name, rest);
  }
  return undefined;
};

/** `file:///m/1/model.ts:3:7` of a module, `/m/1/model.js:3:7` of CommonJS. */
const frames = /((?:file:\/\/)?\/[^\s()]+?):(\d+):\d+/g;

const fileOf = (place: string): string => (place.startsWith('file:') ? fileURLToPath(place) : place);

/** What Node prints before the stack of a file that it cannot read, else the uppermost frame inside the model's folder. */
const placeOf = (error: unknown, place: ModelPlace): string | undefined => {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return undefined;
  const [, headPath, headLine] = /^(?:file:\/\/)?(\/[^\n]*|[A-Za-z]:[^\n]*):(\d+)\n/.exec(error.stack) ?? [];
  if (headPath !== undefined) return `${pathInside(place, headPath) ?? headPath}:${headLine}`;
  for (const [, frame = '', line] of error.stack.matchAll(frames)) {
    const path = pathInside(place, fileOf(frame));
    if (path !== undefined && !path.includes('node_modules')) return `${path}:${line}`;
  }
  return undefined;
};

/** V8 does not say where in a JavaScript module it found the fault; the parser that strips types does, and JavaScript is TypeScript. */
const findSyntaxError = (loaded: readonly string[], place: ModelPlace): string | undefined => {
  const { emitWarning } = process;
  const silent = (): void => {};
  process.emitWarning = silent;
  try {
    for (const path of loaded) {
      try {
        stripTypeScriptTypes(readFileSync(path, 'utf8'), { sourceUrl: path });
      } catch (error) {
        const found = placeOf(error, place);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
};
