import { describe, expect, it } from 'vitest';
import { decoupledWithin } from '../../../src/repository/ensembles/decoupled-within.ts';
import { findAskedAgain } from '../../../src/repository/ensembles/find-asked-again.ts';
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

const askedAgain = (...steps: readonly EnsembleStep[]): readonly number[] => {
  const within = steps.map(({ modelName }) => decoupledWithin(find(modelName) ?? plain, find));
  return [...findAskedAgain({ steps, order: orderSteps(['IN'], steps), decoupledWithin: within })];
};

it('finds the models that answer many times within another, and no others', () => {
  expect([...decoupledWithin(outer, find)]).toEqual(['outer', 'inner', 'many']);
  expect([...decoupledWithin(many, find)]).toEqual(['many']);
  expect([...decoupledWithin(plain, find)]).toEqual([]);
});

describe('steps that are asked again', () => {
  it.each<[string, readonly EnsembleStep[], readonly number[]]>([
    ['by the next step', [step('many', 'IN', 't'), step('many', 't', 'OUT')], [0]],
    [
      'by a later one, in whatever order they are written',
      [step('many', 'u', 'OUT'), step('plain', 't', 'u'), step('many', 'IN', 't')],
      [2],
    ],
    ['within an ensemble', [step('many', 'IN', 't'), step('outer', 't', 'OUT')], [0]],
    ['of an ensemble', [step('outer', 'IN', 't'), step('plain', 't', 'u'), step('inner', 'u', 'OUT')], [0]],
    ['not beside each other', [step('many', 'IN', 't'), step('many', 'IN', 'u')], []],
    ['not where they answer once', [step('plain', 'IN', 't'), step('plain', 't', 'OUT')], []],
  ])('%s', (_, steps, expected) => {
    expect(askedAgain(...steps)).toEqual(expected);
  });
});
