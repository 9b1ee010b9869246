import { relative } from 'node:path';

/** How a step ended. A step without tests of its own, such as the linter, counts none. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const noCounts: Counts = { passed: 0, failed: 0, skipped: 0 };

export const addCounts = (a: Counts, b: Counts): Counts => ({
  passed: a.passed + b.passed,
  failed: a.failed + b.failed,
  skipped: a.skipped + b.skipped,
});

/** From the file of vitest's JSON reporter. */
export const vitestCounts = (json: string): Counts => {
  const report: { numPassedTests: number; numFailedTests: number; numPendingTests: number; numTodoTests: number } = JSON.parse(json);
  return { passed: report.numPassedTests, failed: report.numFailedTests, skipped: report.numPendingTests + report.numTodoTests };
};

interface VitestFile {
  readonly name: string;
  readonly status: string;
  /** Why the file could not be run. */
  readonly message: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string; readonly failureMessages: readonly string[] }[];
}

/** A line for each failed test in the same report, and for each file that could not be run: which one, and the first line of each error. */
export const vitestFailures = (json: string, root: string): readonly string[] => {
  const { testResults }: { testResults: readonly VitestFile[] } = JSON.parse(json);
  const firstLine = (text: string): string => text.split('\n', 1).join();
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && failed.length === 0) return [`${file}: ${firstLine(message)}`];
    return failed.map(({ fullName, failureMessages }) => `${file}: ${fullName}: ${failureMessages.map(firstLine).join('; ')}`);
  });
};

/** From pytest's `--junit-xml` file: the attributes of its one `testsuite`. */
export const pytestCounts = (xml: string): Counts => {
  const [suite = ''] = /<testsuite\s[^>]*>/.exec(xml) ?? [];
  const attribute = (name: string): number => Number(new RegExp(`\\s${name}="(\\d+)"`).exec(suite)?.[1] ?? 0);
  const failed = attribute('failures') + attribute('errors');
  const skipped = attribute('skipped');
  return { passed: attribute('tests') - failed - skipped, failed, skipped };
};

/**
 * What a step adds to the sum. One that failed without a failed test (a suite that did not load, a linter) counts as one failure, and so does a
 * suite that ran no test: the last line must never look better than the exit status.
 */
export const stepCounts = (status: number | null, counts: Counts | undefined): Counts => {
  const own = counts ?? noCounts;
  const ranNothing = counts !== undefined && counts.passed + counts.failed === 0;
  const isHiddenFailure = (status !== 0 || ranNothing) && own.failed === 0;
  return isHiddenFailure ? { ...own, failed: 1 } : own;
};

/** The line that ends a run. */
export const countsLine = ({ passed, failed, skipped }: Counts): string =>
  `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
