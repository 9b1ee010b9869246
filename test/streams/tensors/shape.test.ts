import { expect, it } from 'vitest';
import { datatypes, elementByteSize, isDatatype } from '../../../src/streams/tensors/datatype.ts';
import { isCountable } from '../../../src/streams/tensors/shape.ts';

it.each([
  [[2 ** 31, 2 ** 31], false],
  [[2 ** 53], false],
  [[2 ** 26, 2 ** 27 - 1], true],
  [[2 ** 60, 0], true],
  [[], true],
])('says of %j whether its elements can be counted: %s', (shape, expected) => {
  expect(isCountable(shape)).toBe(expected);
});

it('knows datatypes by their exact names, and their sizes', () => {
  for (const datatype of datatypes) {
    const bits = Number(/\d+$/.exec(datatype)?.[0] ?? (datatype === 'BOOL' ? 8 : 0));
    expect([datatype, isDatatype(datatype), elementByteSize(datatype)]).toEqual([datatype, true, bits / 8]);
  }
  for (const name of ['', 'fp32', 'STRING', 'TYPE_FP32', 'toString']) expect([name, isDatatype(name)]).toEqual([name, false]);
});
