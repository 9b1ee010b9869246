import { Visitor } from 'oxc-parser';
import { importsOf } from './imports.ts';
import { parseSource, type SourceFile } from './source-file.ts';

/** Each keeps all that it is given until something else is ready for it, and nobody sees how much that is. */
const banned = new Set([
  'concatMap',
  'concatMapTo',
  'concatAll',
  'concatWith',
  'zip',
  'zipAll',
  'zipWith',
  'delay',
  'delayWhen',
  'observeOn',
  'buffer',
  'bufferTime',
  'bufferWhen',
  'bufferToggle',
  'publishReplay',
]);

/** How many arguments make the queue of these one without bound, or one that is hidden. */
const faultyCall = (name: string, count: number): string | undefined => {
  if (name === 'mergeMap' && count > 1) return 'mergeMap with a limit';
  if (name === 'mergeAll' && count > 0) return 'mergeAll with a limit';
  if (name === 'shareReplay' && count === 0) return 'shareReplay without size';
  if (name === 'ReplaySubject' && count === 0) return 'ReplaySubject without size';
  return undefined;
};

const faultsOf = (file: SourceFile): readonly string[] => {
  const faults: string[] = [];
  const add = (what: string): void => {
    faults.push(`${file.path}: ${what}`);
  };
  for (const { target, names } of importsOf(file)) {
    if (target !== 'rxjs') continue;
    for (const name of names) {
      if (banned.has(name)) add(name);
      if (name === '*') add('rxjs as a whole, which hides what is used of it');
    }
  }
  const addCall = (callee: { type: string; name?: string }, count: number): void => {
    const what = callee.name === undefined ? undefined : faultyCall(callee.name, count);
    if (what !== undefined) add(what);
  };
  new Visitor({
    CallExpression: ({ callee, arguments: args }) => {
      if (callee.type === 'Identifier') addCall(callee, args.length);
    },
    NewExpression: ({ callee, arguments: args }) => {
      if (callee.type === 'Identifier') addCall(callee, args.length);
    },
  }).visit(parseSource(file).program);
  return faults;
};

/** Stock operators with a queue that has no name, bound, gauge or rule. `streams/flow` is where such queues are built to be seen. */
export const hiddenQueueFaults = (files: readonly SourceFile[]): readonly string[] =>
  files.filter(({ path }) => !path.startsWith('src/streams/flow/')).flatMap(faultsOf);
