import { firstValueFrom, Subscription } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { identityBackend } from '../../../src/backends/identity/identity-backend.ts';
import { requestLayers } from '../../../src/operators/layers/request-layers.ts';
import type { RunningModel } from '../../../src/operators/run-model.ts';
import { runModel } from '../../../src/operators/run-model.ts';
import { machineScheduler } from '../../../src/streams/flow/clock.ts';
import type { Backend, ModelFiles } from '../../../src/streams/inference/backend.ts';
import type { InferenceEvent } from '../../../src/streams/inference/events.ts';
import type { BatchInput, BatchOptions, ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { workbench } from '../../backends/onnxruntime/workbench.ts';
import { batchInputs, maskedMean, raggedSums } from '../../support/batch-models.ts';
import { makeBatching, makeLog, makePlacement } from '../../support/model.ts';
import { variableRows } from '../../support/onnx-models.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';

const noFiles: ModelFiles = { modelName: 'm', modelDirectory: '', versionDirectory: '', modelFile: '' };

const options = (fields: Partial<BatchOptions>): BatchOptions => ({
  groupByParameter: undefined,
  unequalShapes: false,
  padding: undefined,
  ...fields,
});

const batching = (fields: Partial<ModelSpec>): ModelSpec => modelSpec({ maxBatchSize: 8, dynamicBatching: makeBatching(), ...fields });

const told = (kind: BatchInput['kind'], name: string, datatype: BatchInput['datatype'] = 'INT32'): BatchInput => ({
  kind,
  names: [name],
  datatype,
  source: 'X',
});

const fp32 = (shape: readonly number[], from = 1): Tensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensorFrom(
    'FP32',
    shape,
    Array.from({ length: count }, (_, index) => from + index),
  );
};

describe('batches over the whole graph of a model', () => {
  const { backend: onnx, write } = workbench();
  const events: InferenceEvent[] = [];
  let life = new Subscription();

  afterEach(() => {
    life.unsubscribe();
    events.length = 0;
  });

  const run = (backend: Backend, files: ModelFiles, spec: ModelSpec): Promise<RunningModel> => {
    const sink = (event: InferenceEvent): void => void events.push(event);
    const common = { spec, sink, scheduler: machineScheduler, log: makeLog() };
    const placement = makePlacement();
    const running$ = runModel({
      ...common,
      placements: [{ placement, open: () => backend.open(files, spec, placement) }],
      layers: requestLayers(common),
    });
    return new Promise((resolve, reject) => {
      life = running$.subscribe({ next: resolve, error: reject });
    });
  };

  const runOnnx = async (model: Uint8Array, spec: ModelSpec): Promise<RunningModel> => run(onnx, await write({ onnx: model }), spec);

  /** Asks within one tick; numbers of all outputs, copied where they may be read. */
  const askAll = (model: RunningModel, requests: readonly InferRequest[]) =>
    Promise.all(
      requests.map(
        (request) =>
          new Promise<Readonly<Record<string, { shape: readonly number[]; values: readonly number[] }>>>((resolve, reject) => {
            model.infer(request).subscribe({
              next: ({ outputs }) =>
                resolve(
                  Object.fromEntries(
                    [...outputs].map(([name, tensor]) => [name, { shape: tensor.shape, values: [...tensorValues(tensor)].map(Number) }]),
                  ),
                ),
              error: reject,
            });
          }),
      ),
    );

  /** Rows and requests of each execution. */
  const executions = (): readonly (readonly number[])[] =>
    events.flatMap((event) => (event.kind === 'batch-executed' ? [[event.rows, event.succeeded]] : []));

  it('runs ragged requests together', async () => {
    const model = await runOnnx(
      raggedSums(),
      batching({
        inputs: [inputSpec('X', 'FP32', [-1], { allowRagged: true })],
        outputs: [outputSpec('SUM', 'FP32', [1]), outputSpec('DOUBLE', 'FP32', [-1])],
        batchInputs: [told('BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', 'ENDS')],
        batchOutputs: [{ names: ['DOUBLE'], source: 'X' }],
      }),
    );
    const answers = await askAll(
      model,
      [3, 5, 1].map((length, index) => inferRequest({ X: fp32([1, length], 10 * index) })),
    );
    expect(answers).toEqual([
      { SUM: { shape: [1, 1], values: [3] }, DOUBLE: { shape: [1, 3], values: [0, 2, 4] } },
      { SUM: { shape: [1, 1], values: [60] }, DOUBLE: { shape: [1, 5], values: [20, 22, 24, 26, 28] } },
      { SUM: { shape: [1, 1], values: [20] }, DOUBLE: { shape: [1, 1], values: [40] } },
    ]);
    expect(executions()).toEqual([[3, 3]]);
  });

  it('tells the model what its inputs were, in every way there is', async () => {
    const model = await runOnnx(
      batchInputs(),
      batching({
        inputs: [inputSpec('X', 'FP32', [-1, -1], { allowRagged: true })],
        outputs: [
          outputSpec('count', 'INT32', [1], { reshape: [] }),
          outputSpec('sums', 'FP32', [1], { reshape: [] }),
          outputSpec('ends', 'INT32', [1], { reshape: [] }),
          outputSpec('longest', 'INT64', [1], { reshape: [] }),
          outputSpec('shapes', 'INT32', [2]),
          outputSpec('flat', 'FP32', [2]),
        ],
        batchInputs: [
          told('BATCH_ELEMENT_COUNT', 'COUNT'),
          told('BATCH_ACCUMULATED_ELEMENT_COUNT', 'SUMS', 'FP32'),
          told('BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', 'ENDS'),
          told('BATCH_MAX_ELEMENT_COUNT_AS_SHAPE', 'LONGEST'),
          told('BATCH_ITEM_SHAPE', 'SHAPES'),
          told('BATCH_ITEM_SHAPE_FLATTEN', 'FLAT', 'FP32'),
        ],
      }),
    );
    const shapes = [
      [2, 3],
      [1, 4],
      [5, 2],
    ];
    const answers = await askAll(
      model,
      shapes.map((shape) => inferRequest({ X: fp32([1, ...shape]) })),
    );
    const one = (value: number) => ({ shape: [1, 1], values: [value] });
    let sum = 0;
    expect(answers).toEqual(
      shapes.map((shape) => {
        const count = (shape[0] ?? 0) * (shape[1] ?? 0);
        sum += count;
        const sizes = { shape: [1, 2], values: shape };
        return { count: one(count), sums: one(sum), ends: one(sum), longest: one(10), shapes: sizes, flat: sizes };
      }),
    );
    expect(executions()).toEqual([[3, 3]]);
  });

  it('fills requests up to the longest, with a mask for the model, and cuts the answers back', async () => {
    const model = await runOnnx(
      maskedMean(),
      batching({
        inputs: [inputSpec('X', 'FP32', [-1])],
        outputs: [outputSpec('MEAN', 'FP32', [1]), outputSpec('ECHO', 'FP32', [-1])],
        batchOptions: options({ padding: { inputs: ['X'], value: 1000, mask: { name: 'MASK', datatype: 'FP32' }, outputs: ['ECHO'] } }),
      }),
    );
    const answers = await askAll(
      model,
      [3, 5, 1].map((length, index) => inferRequest({ X: fp32([index + 1, length], 10 * index) })),
    );
    expect(answers).toEqual([
      { MEAN: { shape: [1, 1], values: [1] }, ECHO: { shape: [1, 3], values: [0, 1, 2] } },
      { MEAN: { shape: [2, 1], values: [12, 17] }, ECHO: { shape: [2, 5], values: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19] } },
      { MEAN: { shape: [3, 1], values: [20, 21, 22] }, ECHO: { shape: [3, 1], values: [20, 21, 22] } },
    ]);
    expect(executions()).toEqual([[6, 3]]);
    await expect(askAll(model, [inferRequest({ X: fp32([1, 2]), MASK: fp32([1, 2]) })])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining("expected 1 inputs but got 2 inputs for model 'm'"),
    });
    await expect(askAll(model, [inferRequest({ MASK: fp32([1, 2]) })])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: "unexpected inference input 'MASK' for model 'm'",
    });
  });

  it('gives every request of a batch the error, where the model has not a row for each of theirs', async () => {
    const model = await runOnnx(
      variableRows(),
      batching({ inputs: [inputSpec('INPUT0', 'FP32', [4])], outputs: [outputSpec('OUTPUT0', 'FP32', [4])] }),
    );
    const requests = [-1, 1, -1].map((first) => inferRequest({ INPUT0: tensorFrom('FP32', [1, 4], [first, 0, 0, 0]) }));
    const ends = await Promise.allSettled(requests.map((request) => askAll(model, [request])));
    const message = "failed to split the output tensor 'OUTPUT0' in responses: expected batch size of at least 3 in model output, got 1";
    for (const end of ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'UNIMPLEMENTED', message } });
    expect(executions()).toEqual([]);
  });

  it('hands requests of unequal shapes to a model that takes them one by one', async () => {
    const model = await run(
      identityBackend(),
      noFiles,
      batching({
        inputs: [inputSpec('X', 'FP32', [-1])],
        outputs: [outputSpec('Y', 'FP32', [-1])],
        batchOptions: options({ unequalShapes: true }),
      }),
    );
    const answers = await askAll(
      model,
      [3, 5, 3, 5].map((length, index) => inferRequest({ X: fp32([1, length], 10 * index) })),
    );
    expect(answers.map(({ Y }) => Y?.shape)).toEqual([
      [1, 3],
      [1, 5],
      [1, 3],
      [1, 5],
    ]);
    expect(answers.map(({ Y }) => Y?.values[0])).toEqual([0, 10, 20, 30]);
    expect(executions()).toEqual([[4, 4]]);
  });

  it('pads for a model that takes requests one by one too', async () => {
    const model = await run(
      identityBackend(),
      noFiles,
      batching({
        inputs: [inputSpec('X', 'FP32', [-1])],
        outputs: [outputSpec('Y', 'FP32', [-1])],
        batchOptions: options({ padding: { inputs: ['X'], value: -1, mask: undefined, outputs: [] } }),
      }),
    );
    const answers = await askAll(model, [inferRequest({ X: fp32([1, 1]) }), inferRequest({ X: fp32([1, 3]) })]);
    expect(answers.map(({ Y }) => Y?.values)).toEqual([
      [1, -1, -1],
      [1, 2, 3],
    ]);
  });

  it('fails a batch that cannot be padded, and lives on', async () => {
    const model = await run(
      identityBackend(),
      noFiles,
      batching({
        inputs: [inputSpec('X', 'UINT8', [-1, -1])],
        outputs: [outputSpec('Y', 'UINT8', [-1, -1])],
        batchOptions: options({ padding: { inputs: ['X'], value: 0, mask: undefined, outputs: [] } }),
      }),
    );
    const bytes = (...shape: number[]) => inferRequest({ X: new Tensor('UINT8', shape, new Uint8Array(40_000)) });
    const ends = await Promise.allSettled([bytes(1, 1, 40_000), bytes(1, 40_000, 1)].map((request) => askAll(model, [request])));
    for (const end of ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'RESOURCE_EXHAUSTED' } });
    expect((await firstValueFrom(model.infer(bytes(1, 1, 40_000)))).outputs.get('Y')?.shape).toEqual([1, 1, 40_000]);
  });
});
