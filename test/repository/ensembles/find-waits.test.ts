import { describe, expect, it } from 'vitest';
import { type StepWaits, WaitOrder } from '../../../src/operators/ensembles/wait-order.ts';
import { decoupledWithin } from '../../../src/repository/ensembles/decoupled-within.ts';
import { findWaits } from '../../../src/repository/ensembles/find-waits.ts';
import { orderSteps } from '../../../src/repository/ensembles/order-steps.ts';
import type { EnsembleStep, ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import { makeSpec } from '../../support/model.ts';

const step = (modelName: string, from: string, to: string): EnsembleStep => ({
  modelName,
  modelVersion: '',
  inputs: new Map([['X', from]]),
  outputs: new Map([['Y', to]]),
});

const many = makeSpec({ name: 'many', decoupled: true });
const plain = makeSpec({ name: 'plain' });
const ensembleOf = (name: string, decoupled: boolean, ...steps: readonly EnsembleStep[]): ModelSpec =>
  makeSpec({ name, decoupled, ensemble: { steps, maxInflightRequests: 0 } });
const inner = ensembleOf('inner', true, step('many', 'a', 'b'), step('plain', 'b', 'c'));
const outer = ensembleOf('outer', true, step('plain', 'a', 'b'), step('inner', 'b', 'c'));
const models = new Map([many, plain, inner, outer].map((spec) => [spec.name, spec]));
const find = (name: string): ModelSpec | undefined => models.get(name);

const waitsOf = (...steps: readonly EnsembleStep[]): readonly StepWaits[] => {
  const within = steps.map(({ modelName }) => decoupledWithin(find(modelName) ?? plain, find));
  return findWaits({ steps, order: orderSteps(['IN'], steps), decoupledWithin: within });
};

it('finds the models that answer many times within another, and no others', () => {
  expect([...decoupledWithin(outer, find)]).toEqual(['outer', 'inner', 'many']);
  expect([...decoupledWithin(many, find)]).toEqual(['many']);
  expect([...decoupledWithin(plain, find)]).toEqual([]);
});

it('finds what the steps behind a step ask, in whatever order they are written', () => {
  const waits = waitsOf(step('plain', 'u', 'v'), step('inner', 't', 'u'), step('many', 'IN', 't'), step('outer', 'v', 'OUT'));
  expect(waits.map(({ models, behind }) => [[...models].toSorted(), [...behind].toSorted()])).toEqual([
    [[], ['inner', 'many', 'outer']],
    [
      ['inner', 'many'],
      ['inner', 'many', 'outer'],
    ],
    [['many'], ['inner', 'many', 'outer']],
    [['inner', 'many', 'outer'], []],
  ]);
});

describe('steps that are not told to wait', () => {
  it.each<[string, readonly EnsembleStep[], readonly number[]]>([
    ['one whose model the next step asks', [step('many', 'IN', 't'), step('many', 't', 'OUT')], [0]],
    [
      'one whose model a later step asks, in whatever order they are written',
      [step('many', 'u', 'OUT'), step('plain', 't', 'u'), step('many', 'IN', 't')],
      [2],
    ],
    ['one whose model is asked within an ensemble', [step('many', 'IN', 't'), step('outer', 't', 'OUT')], [0]],
    ['an ensemble within which it is asked', [step('outer', 'IN', 't'), step('plain', 't', 'u'), step('inner', 'u', 'OUT')], [0]],
    ['none of steps beside each other', [step('many', 'IN', 't'), step('many', 'IN', 'u')], []],
    ['none that answers once', [step('plain', 'IN', 't'), step('plain', 't', 'OUT')], []],
  ])('%s', (_, steps, expected) => {
    const order = new WaitOrder();
    const waits = waitsOf(...steps);
    order.add(waits);
    expect(waits.flatMap((each, index) => (order.isCircular(each) ? [index] : []))).toEqual(expected);
  });
});
