import { expect, it } from 'vitest';
import { schedulerHolds } from '../../src/server/scheduler-holds.ts';

it('reads how long schedulers hold their first batch back', () => {
  const environment = { TRITONSERVER_DELAY_SCHEDULER: '8', TRITONSERVER_BACKLOG_DELAY_SCHEDULER: '2' };
  expect(schedulerHolds(environment)).toEqual({ holdUntilQueued: 8, holdUntilBacklogged: 2 });
});

it.each([undefined, '', 'many', '-1', '1e3'])('takes %s for none', (value) => {
  const environment = { TRITONSERVER_DELAY_SCHEDULER: value, TRITONSERVER_BACKLOG_DELAY_SCHEDULER: value };
  expect(schedulerHolds(environment)).toEqual({ holdUntilQueued: 0, holdUntilBacklogged: 0 });
});
