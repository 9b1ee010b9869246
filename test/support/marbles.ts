import type { RunHelpers } from 'rxjs/testing';
import { TestScheduler } from 'rxjs/testing';
import { expect } from 'vitest';

interface MarbleHelpers extends RunHelpers {
  readonly scheduler: TestScheduler;
}

/** A test body on virtual time; one character of a diagram is one millisecond. */
export const marbles = (body: (helpers: MarbleHelpers) => void) => (): void => {
  const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
  scheduler.run((helpers) => body({ ...helpers, scheduler }));
};
