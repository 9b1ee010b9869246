import type { HandEnsemble, HandStep } from './hand-ensemble.ts';

export const chain: readonly HandStep[] = [
  { model: 'a', in: { x: 'IN' }, out: { y: 't' } },
  { model: 'b', in: { x: 't' }, out: { y: 'OUT' } },
];

/** The first may answer many times. */
export const manyThenOne: readonly HandStep[] = [
  { model: 'many', in: { x: 'IN' }, out: { y: 't' }, isDecoupled: true },
  { model: 'b', in: { x: 't' }, out: { y: 'OUT' } },
];

export const diamond: readonly HandStep[] = [
  { model: 'a', in: { x: 'IN' }, out: { y: 's' } },
  { model: 'left', in: { x: 's' }, out: { y: 'l' } },
  { model: 'right', in: { x: 's' }, out: { y: 'r' } },
  { model: 'join', in: { p: 'l', q: 'r' }, out: { y: 'OUT' } },
];

/** `name in=out+failed+queued+running` of each stage. */
export const counts = ({ running }: HandEnsemble): readonly string[] =>
  running
    .graph()
    .stages.map(({ name, in: entered, out, failed, queued, running: now }) => `${name} ${entered}=${out}+${failed}+${queued}+${now}`);
