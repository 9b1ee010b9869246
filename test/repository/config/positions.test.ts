import { expect, it } from 'vitest';
import { positionsOf } from '../../../src/repository/config/positions.ts';
import { modelConfigType } from '../../../src/repository/config/proto.ts';

const text = `name: "m" # input { }
input [
  { name: "a" dims: [ 1,
      2 ] },
  {
    name: "b"
    reshape: { shape: 3 }
  }
]
parameters { key: "k" value { string_value: "{ x }" } }
parameters {
  value: { string_value: "w" }
  key: "a.b"
}
dynamic_batching < preferred_batch_size: 4
  preferred_batch_size: 8 >
model_warmup {
  inputs {
    key: "X"
    value { dims: [ 1, 2 ] zero_data: true }
  }
}
`;

const positions = positionsOf(modelConfigType, text);

it.each([
  ['name', 1, 1],
  ['input', 2, 1],
  ['input[0]', 2, 1],
  ['input[0].name', 3, 5],
  ['input[0].dims[1]', 4, 7],
  ['input[1]', 5, 3],
  ['input[1].reshape.shape', 7, 16],
  ['parameters["k"]', 10, 1],
  ['parameters["a.b"]', 11, 1],
  ['dynamic_batching.preferred_batch_size[1]', 16, 3],
  ['model_warmup[0].inputs["X"]', 18, 3],
  ['model_warmup[0].inputs["X"].dims[1]', 20, 24],
  ['model_warmup[0].inputs["X"].zero_data', 20, 28],
  ['model_warmup[0].inputs["X"].random_data', 18, 3],
])('finds %s', (field, line, column) => {
  expect(positions.find(field)).toEqual({ line, column });
});

it('finds what is around a field that is not there', () => {
  expect(positions.find('input[1].dims')).toEqual({ line: 5, column: 3 });
  expect(positions.find('dynamic_batching.default_queue_policy.max_queue_size')).toEqual({ line: 15, column: 1 });
  expect(positions.find('output[0].dims')).toBeUndefined();
  expect(positions.find('parameters["a[b]"]')).toEqual({ line: 10, column: 1 });
});

it.each(['', '}', '[', '{{{{', 'a:', 'a [', 'a [ , ]', 'input { dims: [', ':::', '"unclosed', 'a: "x\n" b'])('never fails: %j', (odd) => {
  expect(positionsOf(modelConfigType, odd).find('a')?.line ?? 1).toBe(1);
});
