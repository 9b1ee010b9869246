import { expect, it } from 'vitest';
import { type StepWaits, WaitOrder } from '../../../src/operators/ensembles/wait-order.ts';

/** Of an ensemble whose steps ask these models, one behind the other; several models of one step by a comma. */
const chain = (...steps: readonly string[]): readonly StepWaits[] =>
  steps.map((models, index) => ({
    models: new Set(models.split(',')),
    behind: new Set(steps.slice(index + 1).flatMap((each) => each.split(','))),
  }));

const circular = (order: WaitOrder, ...ensembles: readonly (readonly StepWaits[])[]): readonly string[] =>
  ensembles.flat().flatMap((step) => (order.isCircular(step) ? [[...step.models].join()] : []));

it.each<[string, readonly (readonly string[])[], readonly string[]]>([
  [
    'models in one order',
    [
      ['a', 'b', 'c'],
      ['a', 'c'],
      ['b', 'c'],
    ],
    [],
  ],
  ['a model behind itself, which is all that does not wait', [['a', 'b', 'a', 'c']], ['a']],
  [
    'two ensembles in opposite order',
    [
      ['a', 'b'],
      ['b', 'a'],
      ['a', 'c'],
    ],
    ['a', 'b'],
  ],
  [
    'a circle of three',
    [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
      ['d', 'a'],
    ],
    ['a', 'b', 'c'],
  ],
  [
    'an ensemble within another',
    [
      ['inner,a', 'b'],
      ['b', 'inner,a'],
    ],
    ['inner,a', 'b'],
  ],
])('%s', (_, ensembles, expected) => {
  const order = new WaitOrder();
  const added = ensembles.map((steps) => chain(...steps));
  for (const steps of added) order.add(steps);
  expect(circular(order, ...added)).toEqual(expected);
});

it('knows the ensembles that there are', () => {
  const order = new WaitOrder();
  const [there, back] = [chain('a', 'b'), chain('b', 'a')];
  order.add(there);
  expect(circular(order, there)).toEqual([]);
  const remove = order.add(back);
  expect(circular(order, there, back)).toEqual(['a', 'b']);
  remove();
  expect(circular(order, there)).toEqual([]);
});
