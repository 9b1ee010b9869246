import { expect, it } from 'vitest';
import { AnswersAhead } from '../../../src/streams/inference/answers-ahead.ts';

const mebibyte = 2 ** 20;

it.each([
  ['answers', 16_384, 0],
  ['bytes', 64, mebibyte],
])('closes at so many %s, is too far ahead at twice as many, and says when it opens again', (_what, most, bytes) => {
  const ahead = new AnswersAhead();
  let opened = 0;
  ahead.onOpen = () => opened++;
  const give = (): void => {
    for (let given = 0; given < most; given++) {
      expect([ahead.isOpen, ahead.isTooFar]).toEqual([true, false]);
      ahead.give(bytes);
    }
  };
  give();
  expect([ahead.isOpen, ahead.isTooFar]).toEqual([false, false]);
  for (let given = 0; given < most; given++) ahead.give(bytes);
  expect(ahead.isTooFar).toBe(true);
  ahead.take(most, most * bytes);
  expect([ahead.isOpen, ahead.isTooFar, opened]).toEqual([false, false, 0]);
  ahead.take(1, bytes);
  ahead.take(1, bytes);
  expect([ahead.isOpen, opened]).toEqual([true, 1]);
});
