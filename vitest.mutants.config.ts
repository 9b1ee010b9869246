import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A mutant often falls by the test that killed its neighbour: what failed last comes first, then small files, then the properties. */
class LikelyKillersFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { cache, config } = this.ctx;
    const costOf = ({ moduleId, project }: TestSpecification): number => {
      const path = relative(config.root, moduleId);
      if (cache.getFileTestResults(`${project.name}:${path}`)?.failed === true) return -1;
      return statSync(moduleId).size + (path.startsWith('property-tests') ? 1e9 : 0);
    };
    const costs = new Map(files.map((file) => [file, costOf(file)]));
    return files.toSorted((a, b) => (costs.get(a) ?? 0) - (costs.get(b) ?? 0));
  }
}

// What Stryker runs against each mutant (`npm run mutants`): the tests of the operators and of the flow, and few runs of their properties. Seeds are
// fixed, so that a mutant killed once is killed again. Files share one thread and its modules: most of the time would go into loading them.
export default defineConfig({
  test: {
    include: ['test/streams/flow/**/*.test.ts', 'test/operators/**/*.test.ts', 'property-tests/operators/**/*.test.ts'],
    setupFiles: ['property-tests/fixed-seed.ts'],
    pool: 'threads',
    isolate: false,
    sequence: { sequencer: LikelyKillersFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    env: { WEIR_PROPERTY_RUNS: '30', WEIR_PROPERTY_SEED: '20240520' },
  },
});
