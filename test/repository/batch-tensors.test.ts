import { expect, it, onTestFinished } from 'vitest';
import { onnxruntimeBackend } from '../../src/backends/onnxruntime/onnxruntime-backend.ts';
import { workersStopped } from '../../src/backends/workers/workers-stopped.ts';
import { maskedMean, raggedSums } from '../support/batch-models.ts';
import { makeLog } from '../support/model.ts';
import { writeModel } from '../support/onnx-models.ts';
import { folderOf } from './support/folders.ts';
import { openRepository } from './support/open-repository.ts';
import { ask, fp32, requestTo } from './support/requests.ts';

const ragged = `max_batch_size: 8 dynamic_batching { } instance_group { count: 1 }
  input { name: "X" data_type: TYPE_FP32 dims: -1 allow_ragged_batch: true }
  output [ { name: "SUM" data_type: TYPE_FP32 dims: 1 }, { name: "DOUBLE" data_type: TYPE_FP32 dims: -1 } ]
  batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO target_name: "ENDS" data_type: TYPE_INT32 source_input: "X" }
  batch_output { target_name: "DOUBLE" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "X" }`;

const padded = `max_batch_size: 8 instance_group { count: 1 }
  parameters { key: "weir_pad_inputs" value { string_value: "X" } }
  parameters { key: "weir_pad_mask" value { string_value: "MASK:TYPE_FP32" } }
  parameters { key: "weir_pad_outputs" value { string_value: "ECHO" } }`;

it('serves ONNX models whose requests differ in length, in one execution', async () => {
  const root = await folderOf({});
  await writeModel(root, 'ragged', { onnx: raggedSums(), config: ragged });
  await writeModel(root, 'padded', { onnx: maskedMean(), config: padded });
  // Runs after the repository has been closed.
  onTestFinished(async () => {
    await workersStopped();
  });
  const backends = new Map([['onnxruntime', onnxruntimeBackend({ config: new Map(), log: makeLog() })]]);
  const { repository, report } = await openRepository([root], { backends });
  expect(report).toMatchObject({ failure: undefined });
  const { dataPlane } = repository;
  const askAll = (model: string) =>
    Promise.all([[1, 2, 3], [10], [20, 30]].map((values) => ask(dataPlane, requestTo(model, { X: fp32([1, values.length], values) }))));
  expect((await askAll('ragged')).map(({ outputs }) => [outputs.SUM?.values, outputs.DOUBLE?.values])).toEqual([
    [[6], [2, 4, 6]],
    [[10], [20]],
    [[50], [40, 60]],
  ]);
  expect((await askAll('padded')).map(({ outputs }) => [outputs.MEAN?.values, outputs.ECHO?.values])).toEqual([
    [[2], [1, 2, 3]],
    [[10], [10]],
    [[25], [20, 30]],
  ]);
  for (const model of ['ragged', 'padded']) {
    expect(await dataPlane.statistics(model, '')).toMatchObject([{ inference_count: 3, execution_count: 1 }]);
    expect(dataPlane.modelMetadata(model, '').inputs.map(({ name }) => name)).toEqual(['X']);
  }
});
