import { kept } from './kept.ts';

/** The content of `docs/conformance.md`, which `npm run docs` writes. */
export const renderConformance = (): string =>
  [
    '# Held against a real Triton',
    '',
    'Written by `npm run docs` from `conformance/kept.ts`.',
    '',
    '`npm run conformance` starts Weir and a real Triton (2.51 with its Python backend, brought by pip on first use) on the same models and asks both the',
    'same questions: health, metadata, configs, statistics, the index, inference in every datatype, and everything that can be wrong with a request,',
    'over HTTP, gRPC and gRPC streams. It prints every difference in status, keys, types, values and wording, and fails on any that is not in this table,',
    'and on a row of the table that nothing needs any more. `-- --only=TEXT` asks the questions whose names hold the text; `-- --verbose` prints the kept',
    'differences too.',
    '',
    '| Weir differs | why |',
    '|---|---|',
    ...kept.map(({ difference, reason }) => `| ${difference} | ${reason} |`),
    '',
  ].join('\n');
