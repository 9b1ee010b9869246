import { expect, it } from 'vitest';
import { controlInputs, type RowFlags } from '../../../src/operators/sequences/control-inputs.ts';
import type { ControlInput } from '../../../src/streams/inference/model-spec.ts';
import type { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makeSequenceBatching } from '../../support/sequences.ts';

const row = (fields: Partial<RowFlags> = {}): RowFlags => ({ start: false, end: false, ready: true, sequenceId: 7n, ...fields });
const padding = row({ ready: false, sequenceId: 0n });

const flag = (kind: 'START' | 'END' | 'READY', datatype: 'INT32' | 'FP32' | 'BOOL' = 'INT32', values: [number, number] = [0, 1]) => ({
  kind,
  name: kind,
  datatype,
  whenFalse: values[0],
  whenTrue: values[1],
});

const made = (controls: readonly ControlInput[], flags: RowFlags, maxBatchSize = 8): ReadonlyMap<string, Tensor> => {
  const inputs = new Map<string, Tensor>();
  controlInputs({ sequenceBatching: makeSequenceBatching({ controls }), maxBatchSize })(inputs, flags);
  return inputs;
};

const values = (inputs: ReadonlyMap<string, Tensor>) =>
  Object.fromEntries([...inputs].map(([name, tensor]) => [name, [...tensorValues(tensor)]]));

it('tells a row where in its sequence it is', () => {
  const controls = [flag('START'), flag('END'), flag('READY')];
  expect(values(made(controls, row({ start: true })))).toEqual({ START: [1], END: [0], READY: [1] });
  expect(values(made(controls, row()))).toEqual({ START: [0], END: [0], READY: [1] });
  expect(values(made(controls, row({ start: true, end: true })))).toEqual({ START: [1], END: [1], READY: [1] });
  expect(values(made(controls, padding))).toEqual({ START: [0], END: [0], READY: [0] });
});

it.each([
  { datatype: 'INT32' as const, pair: [-3, 40] as [number, number], no: -3, yes: 40 },
  { datatype: 'FP32' as const, pair: [0.5, -2] as [number, number], no: 0.5, yes: -2 },
  { datatype: 'BOOL' as const, pair: [1, 0] as [number, number], no: 1, yes: 0 },
])('gives the values of the config as $datatype', ({ datatype, pair, no, yes }) => {
  const controls = [flag('START', datatype, pair)];
  expect(made(controls, row()).get('START')?.datatype).toBe(datatype);
  expect(values(made(controls, row()))).toEqual({ START: [no] });
  expect(values(made(controls, row({ start: true })))).toEqual({ START: [yes] });
});

it('has the batch dimension where the model has one', () => {
  const controls: ControlInput[] = [flag('READY'), { kind: 'CORRID', name: 'ID', datatype: 'UINT64' }];
  const shapes = (maxBatchSize: number) => [...made(controls, row(), maxBatchSize).values()].map(({ shape }) => shape);
  expect(shapes(0)).toEqual([[1], [1]]);
  expect(shapes(1)).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

it('makes the flags once and shares them between rows', () => {
  const write = controlInputs({ sequenceBatching: makeSequenceBatching({ controls: [flag('START')] }), maxBatchSize: 8 });
  const [a, b] = [new Map<string, Tensor>(), new Map<string, Tensor>()];
  write(a, row({ start: true }));
  write(b, row({ start: true, sequenceId: 9n }));
  expect(a.get('START')).toBe(b.get('START'));
});

it.each([
  { datatype: 'UINT64' as const, id: 2n ** 64n - 1n, seen: 2n ** 64n - 1n },
  { datatype: 'INT64' as const, id: 2n ** 64n - 1n, seen: -1n },
  { datatype: 'UINT32' as const, id: 2n ** 40n + 2n ** 31n + 5n, seen: 2 ** 31 + 5 },
  { datatype: 'INT32' as const, id: 2n ** 40n + 2n ** 31n + 5n, seen: 5 - 2 ** 31 },
  { datatype: 'INT32' as const, id: 12n, seen: 12 },
])('gives the id $id as $datatype', ({ datatype, id, seen }) => {
  const controls: ControlInput[] = [{ kind: 'CORRID', name: 'ID', datatype }];
  expect(values(made(controls, row({ sequenceId: id })))).toEqual({ ID: [seen] });
  expect(Number(values(made(controls, padding)).ID?.[0])).toBe(0);
});

it.each(['abc', 'ü-語-🙂', 'x'.repeat(128), '0'])('gives the string id %j whole', (id) => {
  const tensor = made([{ kind: 'CORRID', name: 'ID', datatype: 'BYTES' }], row({ sequenceId: id })).get('ID');
  const bytes = Buffer.from(id, 'utf8');
  expect(tensor?.datatype).toBe('BYTES');
  expect(Buffer.from(tensor?.bytes ?? []).readUInt32LE(0)).toBe(bytes.length);
  expect(Buffer.from(tensor?.bytes ?? []).subarray(4)).toEqual(bytes);
});

it('gives a row without sequence an empty string id, and a numbered one its digits', () => {
  const controls: ControlInput[] = [{ kind: 'CORRID', name: 'ID', datatype: 'BYTES' }];
  const text = (sequenceId: bigint | string) =>
    Buffer.from(made(controls, row({ sequenceId })).get('ID')?.bytes ?? [1])
      .subarray(4)
      .toString();
  expect(made(controls, padding).get('ID')?.byteLength).toBe(4);
  expect(text('')).toBe('');
  expect(text(18446744073709551615n)).toBe('18446744073709551615');
});

it('keeps the ids of earlier rows as they are, however many follow', () => {
  const write = controlInputs({
    sequenceBatching: makeSequenceBatching({ controls: [{ kind: 'CORRID', name: 'ID', datatype: 'UINT64' }] }),
    maxBatchSize: 0,
  });
  const rows = Array.from({ length: 2000 }, (_, index) => {
    const inputs = new Map<string, Tensor>();
    write(inputs, row({ sequenceId: BigInt(index) }));
    return inputs;
  });
  expect(rows.map((inputs) => values(inputs).ID)).toEqual(rows.map((_, index) => [BigInt(index)]));
  const memory = new Set(rows.map((inputs) => inputs.get('ID')?.bytes.buffer));
  expect(memory.size).toBeLessThan(10);
});

it('adds nothing for a model without control inputs', () => {
  expect(made([], row()).size).toBe(0);
});
