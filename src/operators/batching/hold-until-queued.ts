import type { Plan } from '../../streams/flow/buffer-when-free.ts';
import type { Waiting } from '../../streams/flow/lane.ts';
import type { Decision } from '../../streams/inference/infer.ts';

/** Takes nothing before `count` wait at once; from then on it is `plan`. For tests that need a queue before the first batch. */
export const holdUntilQueued = <Item>(count: number, plan: Decision<Waiting<Item>, Plan>): Decision<Waiting<Item>, Plan> => {
  let isHeld = true;
  return (waiting, nowMs) => {
    isHeld &&= waiting.length < count;
    return isHeld ? { waitMs: Number.POSITIVE_INFINITY } : plan(waiting, nowMs);
  };
};
