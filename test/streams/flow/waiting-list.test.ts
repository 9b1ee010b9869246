import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WaitingList } from '../../../src/streams/flow/waiting-list.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';

describe('WaitingList', () => {
  it('does as an array does, whatever leaves it and from where', () => {
    const taken = fc.tuple(fc.constantFrom('remove', 'renew', 'cut'), fc.nat(20));
    const step = fc.oneof(fc.constant('push' as const), fc.constant('shift' as const), fc.constant('clear' as const), taken);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const list = new WaitingList<number>();
        let model: number[] = [];
        const places = [];
        let pushed = 0;
        for (const step of steps) {
          if (step === 'push') {
            model.push(pushed);
            places.push(list.push(pushed++));
          } else if (step === 'shift') {
            expect(list.shift()).toBe(model.shift());
          } else if (step === 'clear') {
            list.clear();
            model = [];
          } else {
            const [act, index] = step;
            const place = places[index];
            if (place === undefined) continue;
            const { item } = place;
            const at = model.indexOf(item);
            if (act === 'remove') {
              expect(list.remove(place)).toBe(at >= 0);
              model = model.filter((other) => other !== item);
            } else if (act === 'renew') {
              list.renew(place);
              if (at >= 0) model = [...model.filter((other) => other !== item), item];
            } else {
              expect(list.cut(place)).toEqual(at < 0 ? [] : model.splice(at));
            }
          }
          expect([...list]).toEqual(model);
          expect(list.first).toBe(model[0]);
          expect(list.length).toBe(model.length);
        }
      }),
    );
  });

  it('can be walked again after a walk that stopped early', () => {
    const list = new WaitingList<string>();
    for (const item of 'abc') list.push(item);
    for (const item of list) if (item === 'b') break;
    expect([...list]).toEqual(['a', 'b', 'c']);
  });

  it.each(['shift', 'remove'] as const)('keeps nothing alive through a place whose item has left (%s)', async (how) => {
    const list = new WaitingList<object>();
    const kept = list.push({});
    const later = (): WeakRef<object> => {
      const item = {};
      const place = list.push(item);
      if (how === 'remove') list.remove(kept);
      else list.shift();
      list.remove(place);
      return new WeakRef(item);
    };
    const gone = later();
    await collectGarbage();
    expect(gone.deref()).toBeUndefined();
    expect(kept.isTaken).toBe(false);
  });
});
