import { describe, expect, it } from 'vitest';
import { HeldAnswers } from '../../../src/backends/python/held-answers.ts';
import type { Part } from '../../../src/streams/inference/backend.ts';
import { noParameters } from '../../../src/streams/inference/parameters.ts';
import { HandDemand } from '../../support/hand-demand.ts';

const part = (of: number): Part => ({ of, outputs: new Map(), parameters: noParameters, isLast: false, error: undefined });

const holding = (demand: HandDemand, onPart: (of: number) => void = () => undefined) => {
  const emitted: number[] = [];
  let timesEmpty = 0;
  const held = new HeldAnswers({
    demand,
    emit: ({ of }) => {
      emitted.push(of);
      onPart(of);
    },
    onEmpty: () => timesEmpty++,
  });
  return { held, emitted, empty: () => timesEmpty };
};

describe('answers that wait for room', () => {
  it('go one for each room, in order, and say when none is left', () => {
    const demand = new HandDemand();
    demand.close();
    const { held, emitted, empty } = holding(demand, () => demand.close());
    for (const of of [0, 1, 2]) held.add(part(of), undefined);
    expect(emitted).toEqual([]);
    for (const expected of [[0], [0, 1], [0, 1, 2]]) {
      demand.open();
      expect(emitted).toEqual(expected);
      expect(empty()).toBe(expected.length === 3 ? 1 : 0);
    }
    expect(demand.onOpen).toBeUndefined();
  });

  it('go on while each makes room for the next, without a deeper stack', () => {
    const demand = new HandDemand();
    demand.close();
    const { held, emitted } = holding(demand, (of) => {
      demand.close();
      if (of < 20_000) held.add(part(of + 1), undefined);
      demand.open();
    });
    held.add(part(0), undefined);
    demand.open();
    expect(emitted).toHaveLength(20_001);
  });

  it('go all when nobody is left to have room', () => {
    const demand = new HandDemand();
    demand.close();
    const { held, emitted } = holding(demand);
    held.add(part(0), undefined);
    held.letGo();
    held.add(part(1), undefined);
    expect(emitted).toEqual([0, 1]);
    expect(demand.onOpen).toBeUndefined();
  });

  it('leave the demand to somebody else who has it by now', () => {
    const demand = new HandDemand();
    demand.close();
    const { held } = holding(demand);
    held.add(part(0), undefined);
    const other = (): void => undefined;
    demand.onOpen = other;
    held.forget();
    expect(demand.onOpen).toBe(other);
  });
});
