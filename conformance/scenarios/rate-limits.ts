import { askReporter, reporter, type Scenario } from '../scenario.ts';

const limited = (resources: string, more = ''): string =>
  `max_batch_size: 1\ninstance_group [ { kind: KIND_CPU count: 1 rate_limiter { ${resources} ${more} } } ]`;

const shared = 'resources [ { name: "R" global: true count: 4 } ]';

/** Instances that need what others hold. */
export const rateLimits: readonly Scenario[] = [
  {
    name: 'limits: two models that need the same resource',
    models: [reporter('limit_a', limited(shared)), reporter('limit_b', limited(shared))],
    asks: [
      askReporter('limit_a', 'a', 0, { waitMs: 400 }),
      askReporter('limit_b', 'b', 100, { waitMs: 300 }),
      askReporter('limit_a', 'c', 200, { waitMs: 150 }),
    ],
  },
  {
    name: 'limits: two models that need different ones',
    models: [
      reporter('limit_c', limited('resources [ { name: "S" count: 4 } ]')),
      reporter('limit_d', limited('resources [ { name: "T" count: 4 } ]')),
    ],
    asks: [askReporter('limit_c', 'a', 0, { waitMs: 500 }), askReporter('limit_d', 'b', 100, { waitMs: 100 })],
  },
];
