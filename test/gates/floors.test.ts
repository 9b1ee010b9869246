import { expect, it } from 'vitest';
import { floorFaults } from './support/floors.ts';
import { sourceFiles } from './support/source-file.ts';

it('lets every file import only its own folder and lower floors', () => {
  const files = sourceFiles();
  expect(files.length).toBeGreaterThan(50);
  expect(floorFaults(files)).toEqual([]);
});

it.each([
  ['up', 'src/operators/a.ts', `import { b } from '../repository/b.ts';`],
  ['up, a type only', 'src/streams/inference/a.ts', `import type { B } from '../../operators/b.ts';`],
  ['up, by import()', 'src/repository/a.ts', `const { b } = await import('../server.ts');`],
  ['up, by an imported type', 'src/telemetry/a.ts', `type B = import('../cli/b.ts').B;`],
  ['up, by a re-export', 'src/operators/a.ts', `export { b } from '../telemetry/b.ts';`],
  ['up, as a worker', 'src/operators/a.ts', `const url = new URL('../repository/worker.ts', import.meta.url);`],
  ['across floor 0', 'src/streams/flow/a.ts', `import { b } from '../tensors/b.ts';`],
  ['across floor 2', 'src/operators/a.ts', `import { b } from '../backends/identity/b.ts';`],
  ['across floor 3', 'src/repository/a.ts', `import { b } from '../telemetry/b.ts';`],
  ['to another front end', 'src/frontends/http/a.ts', `import { b } from '../grpc/b.ts';`],
  ['to another backend', 'src/backends/onnxruntime/a.ts', `import { b } from '../identity/b.ts';`],
  ['to another cache', 'src/caches/redis/a.ts', `import { b } from '../local/b.ts';`],
  ['from an operator to a cache', 'src/operators/a.ts', `import { b } from '../caches/local/b.ts';`],
  ['a package that floor 0 may not have', 'src/streams/flow/a.ts', `import { Data } from 'apache-arrow';`],
  ['a built-in module on floor 1', 'src/streams/inference/a.ts', `import { join } from 'node:path';`],
  ['outside src', 'src/operators/a.ts', `import { b } from '../../test/b.ts';`],
  ['from no floor', 'src/elsewhere/a.ts', ''],
])('finds an import %s', (_way, path, text) => {
  expect(floorFaults([{ path, text }])).toHaveLength(1);
});

it.each([
  ['its own folder', 'src/frontends/http/a.ts', `import { b } from './parts/b.ts';`],
  ['a lower floor', 'src/frontends/http/a.ts', `import type { B } from '../../streams/inference/b.ts';`],
  ['what backends share', 'src/backends/onnxruntime/a.ts', `import { b } from '../workers/b.ts';`],
  ['a package above floor 1', 'src/repository/a.ts', `import protobuf from 'protobufjs/ext/textformat';`],
  ['floor 4 itself', 'src/cli/a.ts', `import { Server } from '../server.ts';`],
])('allows an import of %s', (_what, path, text) => {
  expect(floorFaults([{ path, text }])).toEqual([]);
});
