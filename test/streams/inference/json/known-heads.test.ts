import { describe, expect, it } from 'vitest';
import { KnownHeads } from '../../../../src/streams/inference/json/known-heads.ts';
import { parseDocument } from '../../../../src/streams/inference/json/parse-document.ts';
import { readRequest } from '../../../../src/streams/inference/json/read-request.ts';
import { isRenderedBinary } from '../../../../src/streams/inference/json/rendering.ts';
import type { InferRequest } from '../../../../src/streams/inference/request.ts';
import { makeInput, makeSpec } from '../../../support/model.ts';

const spec = makeSpec({ name: 'M', inputs: [makeInput({ name: 'A', datatype: 'UINT8' }), makeInput({ name: 'B', datatype: 'UINT8' })] });

const options = (head: string, tail: readonly number[], version = '') => {
  const bytes = Buffer.concat([Buffer.from(head), Uint8Array.from(tail)]);
  return {
    bytes,
    options: {
      spec,
      modelVersion: version,
      tail: { buffer: bytes, start: Buffer.byteLength(head), end: bytes.length },
      maxInputBytes: 1000,
    },
  };
};

const head = (first: number, second: number, more = ''): string =>
  `{"inputs":[{"name":"A","datatype":"UINT8","shape":[${first}],"parameters":{"binary_data_size":${first}}},` +
  `{"name":"B","datatype":"UINT8","shape":[${second}],"parameters":{"binary_data_size":${second}}}],` +
  `"outputs":[{"name":"O","parameters":{"binary_data":true}}]${more}}`;

const plain = ({ inputs, ...fields }: InferRequest) => ({
  ...fields,
  inputs: [...inputs].map(([name, { datatype, shape, bytes }]) => [name, datatype, shape, [...bytes]]),
});

const readAgain = (heads: KnownHeads, text: string, tail: readonly number[], version = '') => {
  const { bytes, options: given } = options(text, tail, version);
  const { request, rendering } = heads.read(bytes, given);
  const fresh = readRequest(parseDocument(bytes, 0, given.tail.start), given);
  expect(plain(request)).toEqual(plain(fresh.request));
  expect(isRenderedBinary(rendering, 'O')).toBe(isRenderedBinary(fresh.rendering, 'O'));
  return request;
};

describe('KnownHeads', () => {
  it('reads the second request of a head as it reads the first, each with its own bytes and version', () => {
    const heads = new KnownHeads();
    readAgain(heads, head(1, 2), [1, 2, 3]);
    const again = readAgain(heads, head(1, 2), [4, 5, 6], '7');
    expect([...(again.inputs.get('B')?.bytes ?? [])]).toEqual([5, 6]);
    expect(again.modelVersion).toBe('7');
  });

  it('keeps parameters and ids apart', () => {
    const heads = new KnownHeads();
    for (const round of [1, 2]) {
      readAgain(heads, head(1, 1, ',"id":"x","parameters":{"p":1}'), [round, 2]);
      readAgain(heads, head(1, 1, ',"parameters":{"p":2,"priority":3}'), [round, 2]);
    }
  });

  it('keeps the id of each request, wherever it stands', () => {
    const heads = new KnownHeads();
    const rest = head(1, 1).slice(1);
    for (const round of ['a', 'b c', '']) {
      for (const text of [
        `{"id":"${round}",${rest}`,
        `{"id": "${round}", ${rest}`,
        head(1, 1, `,"id":"${round}"`),
        `{"id":"x${round}",${head(1, 1, `,"id":"${round}"`).slice(1)}`,
      ]) {
        readAgain(heads, text, [1, 2]);
      }
      readAgain(heads, head(1, 1), [1, 2]);
    }
    for (const id of ['é', '\\u00e9', '\\"', 'ok']) readAgain(heads, `{"id":"${id}",${rest}`, [1, 2]);
  });

  it('finds fault with the bytes behind a head that it knows', () => {
    const heads = new KnownHeads();
    readAgain(heads, head(1, 1), [1, 2]);
    const { bytes, options: short } = options(head(1, 1), [1]);
    expect(() => heads.read(bytes, short)).toThrow("unexpected size for input 'B', expecting 1 additional bytes for model 'M'");
    const { bytes: more, options: long } = options(head(1, 1), [1, 2, 3]);
    expect(() => heads.read(more, long)).toThrow("unexpected additional input data for model 'M'");
    readAgain(heads, head(1, 1), [3, 4]);
  });

  it('does not keep a head with values of its own', () => {
    const heads = new KnownHeads();
    const mixed =
      '{"inputs":[{"name":"A","datatype":"UINT8","shape":[1],"data":[9]},{"name":"B","datatype":"UINT8","shape":[1],"parameters":{"binary_data_size":1}}]}';
    readAgain(heads, mixed, [1]);
    readAgain(heads, mixed, [2]);
  });

  it('goes on when more heads come than it keeps', () => {
    const heads = new KnownHeads();
    for (let size = 1; size < 200; size++) readAgain(heads, head(size, 1), Array(size + 1).fill(size % 256));
    readAgain(heads, head(1, 1), [1, 2]);
  });
});
