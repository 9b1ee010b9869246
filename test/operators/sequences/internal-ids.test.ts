import { expect, it } from 'vitest';
import { InternalIds } from '../../../src/operators/sequences/internal-ids.ts';
import type { ControlInput } from '../../../src/streams/inference/model-spec.ts';

const idAs = (datatype: 'UINT64' | 'INT32' | 'BYTES'): ControlInput => ({ kind: 'CORRID', name: 'ID', datatype });
const start: ControlInput = { kind: 'START', name: 'START', datatype: 'INT32', whenFalse: 0, whenTrue: 1 };

const firstOf = (controls: readonly ControlInput[]): unknown[] => {
  const ids = new InternalIds({ controls });
  return [ids.next(), ids.next()];
};

it('counts from 1 on, in numbers unless the model takes text', () => {
  expect([[], [start], [start, idAs('UINT64')], [idAs('INT32')]].map(firstOf)).toEqual([
    [1n, 2n],
    [1n, 2n],
    [1n, 2n],
    [1n, 2n],
  ]);
  expect(firstOf([start, idAs('BYTES')])).toEqual(['1', '2']);
});
