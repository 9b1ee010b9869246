import { expect, it } from 'vitest';
import { selectOutputs } from '../../../src/operators/layers/select-outputs.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { answering, collect, inferRequest, inferResponse, modelSpec, outputSpec } from '../../support/request-fixtures.ts';

const spec = modelSpec({ outputs: ['A', 'B', 'C'].map((name) => outputSpec(name, 'INT8', [1])) });
const one = tensorFrom('INT8', [1], [1]);
const response = inferResponse({ C: one, A: one, B: one }, { isLast: false });

const answered = (...names: readonly string[]) => {
  const request = inferRequest({}, { outputs: names.map((name) => ({ name, classification: 0 })) });
  return collect(selectOutputs(spec)(answering(response, response))(request)).values;
};

it('answers with what was asked for, in the order of the model, each once', () => {
  expect(answered('B', 'C', 'B').map(({ outputs }) => [...outputs.keys()])).toEqual([
    ['C', 'B'],
    ['C', 'B'],
  ]);
  expect(answered('A')[0]).toMatchObject({ modelName: 'm', modelVersion: '1', isLast: false });
});

it('answers two requests of one model each with its own', () => {
  expect([...(answered('A')[0]?.outputs.keys() ?? [])]).toEqual(['A']);
  expect([...(answered('B')[0]?.outputs.keys() ?? [])]).toEqual(['B']);
});

it.each([[], ['A', 'B', 'C'], ['C', 'B', 'A'], ['A', 'B', 'C', 'A']].map((names) => [names]))(
  'passes answers untouched for %j',
  (names) => {
    expect(answered(...names)).toEqual([response, response]);
    expect(answered(...names)[0]).toBe(response);
  },
);
