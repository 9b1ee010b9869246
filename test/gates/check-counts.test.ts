import { expect, it } from 'vitest';
import { addCounts, countsLine, noCounts, pytestCounts, stepCounts, vitestCounts, vitestFailures } from '../../scripts/checks/counts.ts';

it("reads vitest's report", () => {
  const report = { numPassedTests: 7, numFailedTests: 2, numPendingTests: 1, numTodoTests: 1 };
  expect(vitestCounts(JSON.stringify(report))).toEqual({ passed: 7, failed: 2, skipped: 2 });
});

it("names in vitest's report what failed, by file and test, with the first line of each error", () => {
  const passed = { fullName: 'a b', status: 'passed', failureMessages: [] };
  const failed = { fullName: 'a c', status: 'failed', failureMessages: ['Error: one\n    at two', 'Error: three'] };
  const testResults = [
    { name: '/project/test/good.test.ts', status: 'passed', message: '', assertionResults: [passed] },
    { name: '/project/test/bad.test.ts', status: 'failed', message: '', assertionResults: [passed, failed] },
    { name: '/project/test/worse.test.ts', status: 'failed', message: 'Error: no such module\n    at four', assertionResults: [] },
  ];
  expect(vitestFailures(JSON.stringify({ testResults }), '/project')).toEqual([
    'test/bad.test.ts: a c: Error: one; Error: three',
    'test/worse.test.ts: Error: no such module',
  ]);
});

it("reads pytest's report, in which an error is not a failure", () => {
  const xml = '<?xml version="1.0"?><testsuites><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10" time="1.5">';
  expect(pytestCounts(xml)).toEqual({ passed: 4, failed: 3, skipped: 3 });
});

it.each([
  ['a linter that found something', 1, undefined, 1],
  ['a linter that found nothing', 0, undefined, 0],
  ['a suite that could not be loaded', 1, { passed: 3, failed: 0, skipped: 0 }, 1],
  ['a suite with two failures', 1, { passed: 3, failed: 2, skipped: 0 }, 2],
  ['a suite that ran nothing', 0, noCounts, 1],
  ['a suite that skipped everything', 0, { passed: 0, failed: 0, skipped: 4 }, 1],
  ['a step that was killed', null, undefined, 1],
])('counts for %s', (_what, status, counts, failed) => {
  expect(stepCounts(status, counts).failed).toBe(failed);
});

it('ends with one plain line', () => {
  expect(countsLine(addCounts({ passed: 1, failed: 0, skipped: 0 }, { passed: 2, failed: 3, skipped: 0 }))).toBe('3 passed, 3 failed');
  expect(countsLine({ passed: 1, failed: 0, skipped: 2 })).toBe('1 passed, 0 failed, 2 skipped');
});
