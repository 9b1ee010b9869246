import { describe, expect, it } from 'vitest';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import { type TensorValue, tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { identity, node, onnxModel, scalar } from '../../support/onnx-models.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { makeBatch, outputsOf, partsOf, workbench } from './workbench.ts';

const extremes: Readonly<Partial<Record<Datatype, readonly TensorValue[]>>> = {
  BOOL: [true, false, true],
  UINT8: [0, 255, 7],
  UINT16: [0, 65535, 7],
  UINT32: [0, 4294967295, 2147483648],
  UINT64: [0n, 18446744073709551615n, 9007199254740993n],
  INT8: [-128, 127, 0],
  INT16: [-32768, 32767, 0],
  INT32: [-2147483648, 2147483647, 0],
  INT64: [-9223372036854775808n, 9223372036854775807n, 9007199254740993n],
  FP16: [65504, 2 ** -24, Number.NEGATIVE_INFINITY],
  FP32: [3.4028234663852886e38, Number.NaN, -0],
  FP64: [Number.MAX_VALUE, Number.MIN_VALUE, Number.POSITIVE_INFINITY],
  BYTES: ['', 'grün 😀', 'x'.repeat(100_000)],
};

const datatypes = Object.keys(extremes).filter((name): name is keyof typeof extremes => name in extremes);

describe('datatypes of the onnxruntime backend', () => {
  const { openModel } = workbench();

  it('carries every one but BF16 unchanged, in batches of unequal requests', async () => {
    const names = datatypes.map((datatype) => ({ datatype, input: `IN_${datatype}`, output: `OUT_${datatype}` }));
    const { instance } = await openModel(
      onnxModel({
        inputs: names.map(({ datatype, input }) => ({ name: input, datatype, dims: ['batch', 3] })),
        outputs: names.map(({ datatype, output }) => ({ name: output, datatype, dims: ['batch', 3] })),
        nodes: names.map(({ input, output }) => node('Identity', [input], [output])),
      }),
      modelSpec({
        maxBatchSize: 8,
        inputs: names.map(({ datatype, input }) => inputSpec(input, datatype, [3])),
        outputs: names.map(({ datatype, output }) => outputSpec(output, datatype, [3])),
      }),
    );
    const requestOf = (rows: number) =>
      inferRequest(
        Object.fromEntries(
          names.map(({ datatype, input }) => {
            const values = extremes[datatype] ?? [];
            const turned = Array.from({ length: rows }, (_, row) => values.map((_, index) => values[(index + row) % 3] ?? 0)).flat();
            return [input, tensorFrom(datatype, [rows, 3], turned)];
          }),
        ),
      );
    const requests = [requestOf(1), requestOf(3), requestOf(2)];

    const parts = await partsOf(instance.run(makeBatch(requests)));

    expect(parts.map(({ of, isLast, error }) => ({ of, isLast, error }))).toEqual(
      requests.map((_, of) => ({ of, isLast: true, error: undefined })),
    );
    for (const [index, part] of parts.entries()) {
      for (const { datatype, input, output } of names) {
        const sent = requests[index]?.inputs.get(input);
        const got = part.outputs.get(output);
        expect([datatype, got?.datatype, got?.shape]).toEqual([datatype, datatype, sent?.shape]);
        expect(Buffer.compare(got?.bytes ?? Buffer.alloc(0), sent?.bytes ?? Buffer.alloc(1)), datatype).toBe(0);
      }
    }
  });

  it('passes scalars and tensors without elements', async () => {
    const one = await openModel(
      scalar(),
      modelSpec({
        inputs: [inputSpec('INPUT0', 'FP32', [1], { reshape: [] })],
        outputs: [outputSpec('OUTPUT0', 'FP32', [1], { reshape: [] })],
      }),
    );
    const [doubled] = await outputsOf(one.instance, [inferRequest({ INPUT0: tensorFrom('FP32', [], [21]) })]);
    expect([doubled?.shape, doubled?.bytes]).toEqual([[], tensorFrom('FP32', [], [42]).bytes]);

    const spec = modelSpec({
      maxBatchSize: 4,
      inputs: [inputSpec('INPUT0', 'INT64', [-1])],
      outputs: [outputSpec('OUTPUT0', 'INT64', [-1])],
    });
    const any = await openModel(identity({ datatype: 'INT64' }), spec);
    const empty = inferRequest({ INPUT0: tensorFrom('INT64', [2, 0], []) });
    const answers = await outputsOf(any.instance, [empty, empty]);
    expect(answers.map((answer) => [answer?.shape, answer?.byteLength])).toEqual([
      [[2, 0], 0],
      [[2, 0], 0],
    ]);
  });

  it('refuses strings that would not arrive whole, each request for itself', async () => {
    const { instance } = await openModel(
      identity({ datatype: 'BYTES', dims: ['batch', 2] }),
      modelSpec({ maxBatchSize: 8, inputs: [inputSpec('INPUT0', 'BYTES', [2])], outputs: [outputSpec('OUTPUT0', 'BYTES', [2])] }),
    );
    const requestOf = (rows: number, ...values: readonly (string | Uint8Array)[]) =>
      inferRequest({ INPUT0: tensorFrom('BYTES', [rows, 2], values) });
    const requests = [
      requestOf(1, 'a', 'b\0'),
      requestOf(2, 'c', '', 'dd', '😀'),
      requestOf(1, Uint8Array.of(0xff, 0xfe), 'e'),
      requestOf(1, 'f', 'g'),
    ];

    const parts = await partsOf(instance.run(makeBatch(requests)));

    const messages = new Map(parts.map(({ of, error }) => [of, error === undefined ? undefined : `${error.code} ${error.message}`]));
    const refused = `INVALID_ARGUMENT input 'INPUT0' for model 'm' cannot be carried by onnxruntime-node: the string at index`;
    expect([...messages].sort()).toEqual([
      [0, `${refused} 1 holds a NUL character`],
      [1, undefined],
      [2, `${refused} 0 is not valid UTF-8`],
      [3, undefined],
    ]);
    for (const of of [1, 3]) {
      expect(parts.find((part) => part.of === of)?.outputs.get('OUTPUT0')?.bytes).toEqual(
        Uint8Array.from(requests[of]?.inputs.get('INPUT0')?.bytes ?? []),
      );
    }
  });
});
