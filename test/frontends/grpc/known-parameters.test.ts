import { expect, it } from 'vitest';
import { KnownParameters } from '../../../src/frontends/grpc/known-parameters.ts';
import { parametersLength, writeParameters } from '../../../src/frontends/grpc/wire/parameter-writer.ts';
import type { Parameters } from '../../../src/streams/inference/parameters.ts';

const written = (parameters: Parameters): Buffer => {
  const bytes = Buffer.alloc(parametersLength(parameters));
  writeParameters(bytes, 0, parameters);
  return bytes;
};

it('knows the bytes of parameters that come again, as long as no others do', () => {
  const known = new KnownParameters();
  const [first, second]: readonly Parameters[] = [new Map([['a', 1n]]), new Map([['a', 2n]])];
  if (first === undefined || second === undefined) throw new Error('there are two');
  expect(known.bytesOf(first)).toBe(undefined);
  const bytes = known.bytesOf(first);
  expect(bytes).toEqual(written(first));
  expect(known.bytesOf(first)).toBe(bytes);
  expect(known.bytesOf(second)).toBe(undefined);
  expect(known.bytesOf(second)).toEqual(written(second));
  expect(known.bytesOf(first)).toBe(undefined);
});
