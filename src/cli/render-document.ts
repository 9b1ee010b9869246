import { type Flag, flagGroups } from './flag.ts';
import { flags } from './flags.ts';
import { supportNote } from './render-help.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

const renderRow = (flag: Flag): string => {
  const name = code(`--${flag.name}`) + (flag.repeatable ? ' (R)' : '');
  const meaning = [flag.description, supportNote(flag)].filter((part) => part !== '').join(' ');
  return `| ${name} | ${cell(flag.argument)} | ${code(flag.default)} | ${cell(meaning)} |`;
};

const introduction = `# Command line

\`weir [serve] [options]\`. The flags are Triton's, with Triton's defaults; a few are Weir's own and say so.

- \`--flag=value\` and \`--flag value\` are the same. A name may be shortened while it stays clear: \`--http-p=9000\`.
- Booleans are \`true\`, \`on\`, \`1\`, \`false\`, \`off\` and \`0\`, in any case.
- (R) may be given more than once.
- "Not built yet": Triton has the flag and Weir does not do it yet. It is refused, except for a value that asks for what Weir does anyway.
- "No effect": the flag is checked and accepted, and a value other than the default is answered with a warning that says why it changes nothing.
- An unknown flag, a bad value or a stray word ends the command with status 1 and one message on stderr.
- A server starts with the flags of V8 and the settings of glibc's allocator that serve it best (\`src/cli/engine-flags.ts\`). \`NODE_OPTIONS=--max-semi-space-size=16 weir …\`, and the same
  before \`npm start\`, sets the size of the young generation by hand and leaves all of them out; \`MALLOC_TRIM_THRESHOLD_\` and \`MALLOC_MMAP_THRESHOLD_\` of the environment go before its own.
- Two variables of the environment, Triton's, hold schedulers back for tests: \`TRITONSERVER_DELAY_SCHEDULER=N\` until N requests of a model wait,
  \`TRITONSERVER_BACKLOG_DELAY_SCHEDULER=K\` until K requests wait in its backlog besides. Once a model has begun neither holds it again.

This page is made from the table that the command itself reads: \`npm run docs\` writes it.
`;

/** docs/command-line.md. */
export const renderDocument = (): string => {
  const sections = flagGroups.map((group) => {
    const rows = flags.filter((flag) => flag.group === group).map(renderRow);
    return `## ${group}\n\n| flag | value | default | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [introduction, ...sections].join('\n');
};
