import { defineConfig } from 'vitest/config';

// The tests that Stryker runs against each mutant (`npm run mutants`): those of the operators and of the flow, and the properties with few runs.
// The seed is fixed, so that a mutant killed once is killed again.
export default defineConfig({
  test: {
    include: ['test/streams/flow/**/*.test.ts', 'test/operators/**/*.test.ts', 'property-tests/operators/**/*.test.ts'],
    pool: 'threads',
    testTimeout: 30_000,
    env: { WEIR_PROPERTY_RUNS: '50', WEIR_PROPERTY_SEED: '20240520' },
  },
});
