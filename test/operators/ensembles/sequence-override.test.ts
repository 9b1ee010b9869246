import { describe, expect, it } from 'vitest';
import {
  isSameSequence,
  type SequenceOverride,
  sequenceOverride,
  sequenceParameters,
} from '../../../src/operators/ensembles/sequence-override.ts';
import { noParameters, type ParameterValue } from '../../../src/streams/inference/parameters.ts';

const before: SequenceOverride = { sequenceId: 3n, sequenceStart: true, sequenceEnd: false };

describe('what a step says of its sequence', () => {
  it('is nothing where none of its parameters is of that', () => {
    for (const parameters of [noParameters, new Map<string, ParameterValue>([['priority', 1n]])]) {
      expect(sequenceOverride(parameters, before)).toBeUndefined();
    }
  });

  it.each([
    ['sequence_id', 'x', { ...before, sequenceId: 'x' }],
    ['sequence_id', 9n, { ...before, sequenceId: 9n }],
    ['sequence_start', false, { ...before, sequenceStart: false }],
    ['sequence_end', true, { ...before, sequenceEnd: true }],
  ])('may be one thing alone, upon what held before: %s', (name, value, said) => {
    expect(sequenceOverride(new Map([[name, value]]), before)).toEqual(said);
  });

  it('is the same as another when all of it is', () => {
    expect(isSameSequence(before, { ...before })).toBe(true);
    for (const other of [{ sequenceId: '3' }, { sequenceStart: false }, { sequenceEnd: true }]) {
      expect(isSameSequence(before, { ...before, ...other })).toBe(false);
    }
  });

  it('is in the parameters of an answer, which of no sequence are made once', () => {
    const none: SequenceOverride = { sequenceId: 0n, sequenceStart: false, sequenceEnd: false };
    for (const said of [none, before, { ...none, sequenceId: 3n }, { ...none, sequenceStart: true }, { ...none, sequenceEnd: true }]) {
      expect([...sequenceParameters(said)]).toEqual([
        ['sequence_id', said.sequenceId],
        ['sequence_start', said.sequenceStart],
        ['sequence_end', said.sequenceEnd],
      ]);
    }
    expect(sequenceParameters(none)).toBe(sequenceParameters({ ...none }));
  });
});
