import { describe, expect, it } from 'vitest';
import { batchKey } from '../../../src/operators/batching/batch-key.ts';
import type { BatchOptions, InputSpec } from '../../../src/streams/inference/model-spec.ts';
import type { ParameterValue } from '../../../src/streams/inference/parameters.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { makeInput, makeRequest, makeSpec } from '../../support/model.ts';

const none: BatchOptions = { groupByParameter: undefined, unequalShapes: false, padding: undefined };

const key = (
  inputs: readonly InputSpec[],
  shapes: Readonly<Record<string, Shape>>,
  maxBatchSize = 8,
  options: Partial<BatchOptions> = {},
): string => {
  const tensors = Object.entries(shapes).map(([name, shape]): [string, Tensor] => [name, new Tensor('UINT8', shape, new Uint8Array(0))]);
  return batchKey(makeSpec({ inputs, maxBatchSize, batchOptions: { ...none, ...options } }))(makeRequest({ inputs: new Map(tensors) }));
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

  it('tells which of the inputs are there, of any shape', () => {
    const inputs = ['A', 'B'].map((name) => makeInput({ name, dims: [-1], optional: true }));
    const keys = [{ A: [1, 2] }, { B: [1, 2] }, { A: [1, 2], B: [1, 2] }, {}].map((shapes) => key(inputs, shapes));
    expect(new Set(keys).size).toBe(4);
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

  it('tells an optional input of varying shape from none, whatever follows', () => {
    const inputs = [makeInput({ name: 'A', dims: [-1], optional: true }), makeInput({ name: 'B', dims: [-1], optional: true })];
    const keys = [{}, { A: [1, 4] }, { B: [1, 4] }, { A: [1, 4], B: [1, 4] }].map((shapes: Record<string, Shape>) => key(inputs, shapes));
    expect(new Set(keys).size).toBe(4);
  });

  it('tells an optional scalar from none', () => {
    const scalar = makeInput({ name: 'A', dims: [], optional: true });
    expect(key([scalar], { A: [] }, 0)).not.toBe(key([scalar], {}, 0));
  });

  it('does not look at ragged inputs, but whether an optional one is there', () => {
    const ragged = { ...text, allowRagged: true };
    expect(key([ragged, mask], { TEXT: [1, 5], MASK: [1, 3, 2] })).toBe(key([ragged, mask], { TEXT: [1, 6], MASK: [1, 3, 2] }));
    expect(key([ragged, mask], { TEXT: [1, 5], MASK: [1, 3, 2] })).not.toBe(key([ragged, mask], { TEXT: [1, 5], MASK: [1, 4, 2] }));
    const optional = { ...ragged, optional: true };
    expect(key([optional], { TEXT: [1, 5] })).toBe(key([optional], { TEXT: [1, 6] }));
    expect(key([optional], { TEXT: [1, 5] })).not.toBe(key([optional], {}));
  });

  it('does not look at inputs that will be padded', () => {
    const padding = { inputs: ['TEXT'], value: 0, mask: undefined, outputs: [] };
    const padded = (shapes: Readonly<Record<string, Shape>>) => key([text, mask], shapes, 8, { padding });
    expect(padded({ TEXT: [1, 5], MASK: [1, 3, 2] })).toBe(padded({ TEXT: [1, 6], MASK: [1, 3, 2] }));
    expect(padded({ TEXT: [1, 5], MASK: [1, 3, 2] })).not.toBe(padded({ TEXT: [1, 5], MASK: [1, 4, 2] }));
  });

  it('does not look at shapes where the model takes unequal ones, but whether an optional input is there', () => {
    const unequal = (shapes: Readonly<Record<string, Shape>>) =>
      key([text, { ...mask, optional: true }], shapes, 8, { unequalShapes: true });
    expect(unequal({ TEXT: [1, 5], MASK: [1, 3, 2] })).toBe(unequal({ TEXT: [1, 6], MASK: [1, 4, 2] }));
    expect(unequal({ TEXT: [1, 5], MASK: [1, 3, 2] })).not.toBe(unequal({ TEXT: [1, 5] }));
  });

  it('tells values of the grouping parameter apart, their kinds, and none', () => {
    const grouped = batchKey(makeSpec({ batchOptions: { ...none, groupByParameter: 'crop' } }));
    const values: readonly (ParameterValue | undefined)[] = [1n, 2n, 1.5, true, false, 'true', '1', '', undefined];
    const keys = values.map((value) => grouped(makeRequest({ parameters: new Map(value === undefined ? [] : [['crop', value]]) })));
    expect(new Set(keys).size).toBe(values.length);
    expect(grouped(makeRequest({ parameters: new Map([['other', 1n]]) }))).toBe(grouped(makeRequest()));
  });
});
