import { kept } from './kept.ts';

/** The content of `docs/conformance.md`, which `npm run docs` writes. */
export const renderConformance = (): string =>
  [
    '# Held against a real Triton',
    '',
    'Written by `npm run docs` from `conformance/kept.ts`.',
    '',
    '`npm run conformance` starts Weir and a real Triton (2.51 with its Python backend and ensembles, brought by pip on first use) and compares them twice over.',
    '',
    '**Questions.** On the same models, Python there and identity or ONNX here, both are asked the same: health, metadata, configs, statistics, the index, inference in',
    'every datatype, and everything that can be wrong with a request, over HTTP, gRPC and gRPC streams.',
    '',
    '**Scenarios.** Both serve one repository of Python models and ensembles, unchanged, whose outputs tell which requests ran together, in which execution, and what the',
    'model saw of each. Requests come at given times, some 100 ms apart, or each after the answer to another: dynamic batching, queue policies and priorities, direct, oldest and',
    'iterative sequences, ensembles, decoupled models, models that call models, the response cache, warm-up, the rate limiter, `TRITONSERVER_DELAY_SCHEDULER`, configs that',
    'models complete, and some hundred that are wrong. The batches, the answers, the order in which they came, the errors and their codes, the statistics and the counters of `/metrics` must be the same. A',
    'scenario whose servers differ is played twice more, alone and on fresh servers, since a busy machine moves the moments of requests.',
    '',
    'Every difference in status, keys, types, values and wording is printed, and fails the command unless it is in this table; so does a row of the table that nothing needs any',
    'more. `-- --only=TEXT` takes what has the text in its name, `-- --verbose` prints the kept differences too, `-- --attempts=1` plays nothing twice.',
    '',
    'Triton and its Python live in `TRITON_HOME`; `conformance/triton.sh` makes it. The Python models of Weir run in the same Python, with its numpy: it comes first on the PATH of',
    'both servers. What kills or hangs 2.51 is left out: errors of decoupled models, a batch of two to a direct sequence model, a text for the id of a sequence that goes into an',
    'ensemble within another, a version folder without `model.py`.',
    '',
    '| Weir differs | why |',
    '|---|---|',
    ...kept.map(({ difference, reason }) => `| ${difference} | ${reason} |`),
    '',
  ].join('\n');
