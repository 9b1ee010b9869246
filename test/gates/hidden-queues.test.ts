import { expect, it } from 'vitest';
import { hiddenQueueFaults } from './support/hidden-queues.ts';
import { sourceFiles } from './support/source-file.ts';

it('keeps operators with a hidden queue out of src', () => {
  expect(hiddenQueueFaults(sourceFiles())).toEqual([]);
});

it.each([
  `import { concatMap } from 'rxjs';`,
  `import { zip as pairs } from 'rxjs';`,
  `import { delay } from 'rxjs/operators';`,
  `import * as rx from 'rxjs';`,
  `import { mergeMap } from 'rxjs'; source.pipe(mergeMap(work, 4));`,
  `import { shareReplay } from 'rxjs'; source.pipe(shareReplay());`,
  `import { ReplaySubject } from 'rxjs'; const answers = new ReplaySubject<number>();`,
])('finds %s', (text) => {
  expect(hiddenQueueFaults([{ path: 'src/operators/a.ts', text }])).toHaveLength(1);
  expect(hiddenQueueFaults([{ path: 'src/streams/flow/a.ts', text }])).toEqual([]);
});

it.each([
  `import { mergeMap } from 'rxjs'; source.pipe(mergeMap(work));`,
  `import { ReplaySubject } from 'rxjs'; const last = new ReplaySubject<number>(1);`,
  `import { zip } from './rows.ts';`,
])('allows %s', (text) => {
  expect(hiddenQueueFaults([{ path: 'src/operators/a.ts', text }])).toEqual([]);
});
