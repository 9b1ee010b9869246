import { describe, expect, it } from 'vitest';
import { copyAnswer } from '../../../src/operators/cache/copy-answer.ts';
import { noParameters } from '../../../src/streams/inference/parameters.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';

const output = (name: string) => ({ name, datatype: 'UINT8', dims: [-1], reshape: undefined, labels: [] }) as const;
const requested = (...names: string[]) => names.map((name) => ({ name, classification: 0 }));

/** Each output is a part of one memory. */
const memory = Uint8Array.from({ length: 64 }, (_, n) => n);
const response = (outputs: Record<string, readonly [start: number, end: number]>): InferResponse => ({
  modelName: 'm',
  modelVersion: '1',
  id: '',
  parameters: noParameters,
  outputs: new Map(Object.entries(outputs).map(([name, [start, end]]) => [name, new Tensor('UINT8', [end - start], memory, start, end)])),
  isLast: true,
});

const copy = copyAnswer({ outputs: [output('A'), output('B')] });

describe('copyAnswer', () => {
  it('takes what the outputs take, each aligned for any datatype, and fits into exactly that', () => {
    const answer = response({ A: [16, 19], B: [32, 37] });
    const copied = copy(answer, [], 13);
    expect(copied?.memory.byteLength).toBe(13);
    expect([...(copied?.outputs ?? [])].map(([name, { start, bytes }]) => [name, start, [...bytes]])).toEqual([
      ['A', 0, [16, 17, 18]],
      ['B', 8, [32, 33, 34, 35, 36]],
    ]);
    expect(copy(answer, [], 12)).toBeUndefined();
  });

  it('leaves out, and counts not, what was not asked for', () => {
    const copied = copy(response({ A: [16, 19], B: [32, 37] }), requested('B'), 5);
    expect([...(copied?.outputs.keys() ?? [])]).toEqual(['B']);
    expect(copied?.memory.byteLength).toBe(5);
  });

  it('gives who names every output of the model what who names none gets', () => {
    const answer = response({ A: [0, 1], B: [1, 2], MORE: [2, 3] });
    const outputs = [requested(), requested('A', 'B'), requested('B', 'A', 'A'), requested('A')].map((names) => [
      ...(copy(answer, names, 100)?.outputs.keys() ?? []),
    ]);
    expect(outputs).toEqual([['A', 'B', 'MORE'], ['A', 'B', 'MORE'], ['A', 'B', 'MORE'], ['A']]);
  });
});
