import { expect, it } from 'vitest';
import { jsonText } from '../../../../src/streams/inference/json/json-text.ts';

it('prints bigints as numbers, in full', () => {
  expect(jsonText({ dims: [-1, 9007199254740993n], name: 'm', none: undefined })).toBe('{"dims":[-1,9007199254740993],"name":"m"}');
});
