import { describe, expect, it } from 'vitest';
import { batchKey } from '../../src/operators/batch-key.ts';
import type { InputSpec } from '../../src/streams/inference/model-spec.ts';
import type { Shape } from '../../src/streams/tensors/shape.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { makeInput, makeRequest, makeSpec } from '../support/model.ts';

const key = (inputs: readonly InputSpec[], shapes: Readonly<Record<string, Shape>>, maxBatchSize = 8): string => {
  const tensors = Object.entries(shapes).map(([name, shape]): [string, Tensor] => [name, new Tensor('UINT8', shape, new Uint8Array(0))]);
  return batchKey(makeSpec({ inputs, maxBatchSize }))(makeRequest({ inputs: new Map(tensors) }));
};

describe('batchKey', () => {
  const text = makeInput({ name: 'TEXT', dims: [-1] });
  const mask = makeInput({ name: 'MASK', dims: [-1, 2] });

  it('is empty for inputs of fixed shape', () => {
    expect(key([makeInput()], { IN: [3, 4] })).toBe('');
  });

  it('leaves the batch dimension out', () => {
    expect(key([text], { TEXT: [1, 5] })).toBe(key([text], { TEXT: [3, 5] }));
    expect(key([text], { TEXT: [1, 5] })).not.toBe(key([text], { TEXT: [1, 6] }));
  });

  it('has no batch dimension to leave out where the model has none', () => {
    expect(key([text], { TEXT: [1] }, 0)).not.toBe(key([text], { TEXT: [3] }, 0));
  });

  it('tells axes and inputs apart', () => {
    expect(key([text, mask], { TEXT: [1, 1], MASK: [1, 12, 2] })).not.toBe(key([text, mask], { TEXT: [1, 11], MASK: [1, 2, 2] }));
    expect(key([mask], { MASK: [1, 11, 2] })).not.toBe(key([mask], { MASK: [1, 1, 12] }));
  });

  it('does not depend on the order in which inputs came', () => {
    expect(key([text, mask], { MASK: [1, 3, 2], TEXT: [1, 5] })).toBe(key([text, mask], { TEXT: [1, 5], MASK: [1, 3, 2] }));
  });

  it('looks at the shape after reshape', () => {
    const reshaped = makeInput({ dims: [-1], reshape: [-1, 1] });
    expect(key([reshaped], { IN: [1, 5, 1] })).not.toBe(key([reshaped], { IN: [1, 6, 1] }));
  });

  it('tells sets of optional inputs apart', () => {
    const optional = [makeInput({ name: 'A', optional: true }), makeInput({ name: 'B', optional: true })];
    const keys = [{}, { A: [1, 4] }, { B: [1, 4] }, { A: [1, 4], B: [1, 4] }].map((shapes: Record<string, Shape>) => key(optional, shapes));
    expect(new Set(keys).size).toBe(4);
  });

  it('tells an optional scalar from none', () => {
    const scalar = makeInput({ name: 'A', dims: [], optional: true });
    expect(key([scalar], { A: [] }, 0)).not.toBe(key([scalar], {}, 0));
  });
});
