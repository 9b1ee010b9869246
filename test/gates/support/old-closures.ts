import { type Node, Visitor } from 'oxc-parser';
import { parseSource, type SourceFile } from './source-file.ts';

/** Once in the life of a thread. */
const rare: ReadonlySet<string> = new Set(['src/backends/javascript/load-model.ts', 'src/backends/javascript/log-lines.ts']);

const isFunction = ({ type }: Node): boolean => type === 'ArrowFunctionExpression' || type === 'FunctionExpression';

const lineOf = ({ text }: SourceFile, offset: number): number => text.slice(0, offset).split('\n').length;

/**
 * Functions that are written straight into a property, as in `lease.onEnded = (error) => …`: V8 makes these in its old generation. Nobody looks there until the
 * next full collection, and until then whatever such a function can see is alive. One that a variable had before is young, as is a literal's or a class's own.
 */
export const oldClosureFaults = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap((file) => {
    if (rare.has(file.path)) return [];
    const faults: string[] = [];
    new Visitor({
      AssignmentExpression: ({ left, right, start }) => {
        if (left.type === 'MemberExpression' && isFunction(right)) faults.push(`${file.path}:${lineOf(file, start)}`);
      },
    }).visit(parseSource(file).program);
    return faults;
  });
