import { expect, it } from 'vitest';
import { completeBackend } from '../../../src/repository/config/complete-backend.ts';
import { emptyConfig } from '../../../src/repository/config/parse.ts';
import { prepare, tensor } from '../support/prepare.ts';

const ports =
  'input [ { name: "A" data_type: TYPE_FP32 dims: 4 }, { name: "B" data_type: TYPE_FP32 dims: 4 } ] output { name: "C" data_type: TYPE_FP32 dims: 4 } ';

it('writes the whole config of a model that has none', async () => {
  const { spec } = await prepare({});
  expect(spec.config).toEqual({
    name: 'm',
    platform: 'onnxruntime_onnx',
    backend: 'onnxruntime',
    runtime: '',
    version_policy: { latest: { num_versions: 1 } },
    max_batch_size: 4,
    input: ['A', 'B'].map((name) => ({
      name,
      data_type: 'TYPE_FP32',
      format: 'FORMAT_NONE',
      dims: [4],
      is_shape_tensor: false,
      allow_ragged_batch: false,
      optional: false,
      is_non_linear_format_io: false,
    })),
    output: [{ name: 'C', data_type: 'TYPE_FP32', dims: [4], label_filename: '', is_shape_tensor: false, is_non_linear_format_io: false }],
    batch_input: [],
    batch_output: [],
    optimization: {
      priority: 'PRIORITY_DEFAULT',
      input_pinned_memory: { enable: true },
      output_pinned_memory: { enable: true },
      gather_kernel_buffer_threshold: 0,
      eager_batching: false,
    },
    dynamic_batching: {
      preferred_batch_size: [4],
      max_queue_delay_microseconds: 0,
      preserve_ordering: false,
      priority_levels: 0,
      default_priority_level: 0,
      priority_queue_policy: {},
    },
    instance_group: [
      { name: 'm', kind: 'KIND_CPU', count: 2, gpus: [], secondary_devices: [], profile: [], passive: false, host_policy: '' },
    ],
    default_model_filename: 'model.onnx',
    cc_model_filenames: {},
    metric_tags: {},
    parameters: {},
    model_warmup: [],
  });
  expect(spec).toMatchObject({
    name: 'm',
    version: '1',
    maxBatchSize: 4,
    dynamicBatching: { preferredBatchSizes: [4], maxQueueDelayMs: 0 },
    maxQueueSize: 100,
    instanceGroups: [{ name: 'm', kind: 'CPU', count: 2, gpus: [] }],
    decoupled: false,
    graphLevel: 0,
  });
});

it.each([
  // Completion is all or nothing on the presence of inputs and outputs.
  ['max_batch_size: 8', 8, [8]],
  ['max_batch_size: 1', 1, undefined],
  [`max_batch_size: 8 ${ports}`, 8, undefined],
  ['', 4, [4]],
  [ports.slice(0, ports.indexOf('output')), 4, [4]],
  ['max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 6, 2 ] }', 8, [2, 6]],
])('keeps what the user wrote: %s', async (config, maxBatchSize, preferred) => {
  const { spec } = await prepare({ config });
  expect(spec.maxBatchSize).toBe(maxBatchSize);
  expect(spec.dynamicBatching?.preferredBatchSizes).toEqual(preferred);
  expect(spec.inputs.map(({ name, dims }) => [name, dims])).toEqual([
    ['A', [4]],
    ['B', [4]],
  ]);
});

it('says when it chose the batch size', async () => {
  const { warnings } = await prepare({});
  expect(warnings).toEqual([
    "autofilled max_batch_size to 4 for model 'm' since batching is supporrted but no max_batch_size is specified in model configuration. Must specify max_batch_size to utilize autofill with a larger max batch size",
  ]);
});

it('does not batch where inputs and outputs are written without it', async () => {
  const { spec } = await prepare({ config: ports.replaceAll('dims: 4', 'dims: [ -1, 4 ]') });
  expect(spec).toMatchObject({ maxBatchSize: 0, dynamicBatching: undefined });
});

it('describes scalars, of a batch and alone', async () => {
  const rows = await prepare({ signature: { inputs: [tensor('A', 'INT64', -1)], outputs: [tensor('B', 'INT64', -1)] } });
  expect(rows.spec.inputs).toMatchObject([{ name: 'A', datatype: 'INT64', dims: [1], reshape: [], optional: false }]);
  expect(rows.spec.config).toMatchObject({ max_batch_size: 4, input: [{ dims: [1], reshape: { shape: [] } }] });
  const scalar = { inputs: [tensor('A', 'INT64')], outputs: [tensor('B', 'INT64', -1)] };
  const alone = await prepare({ signature: scalar });
  expect(alone.spec).toMatchObject({
    maxBatchSize: 0,
    inputs: [{ dims: [1], reshape: [] }],
    outputs: [{ dims: [-1], reshape: undefined }],
  });
  expect(alone.spec.config).not.toHaveProperty('input.0.reshape');
  const config =
    'max_batch_size: 4 input { name: "A" data_type: TYPE_INT64 dims: 1 reshape { } } output { name: "B" data_type: TYPE_INT64 dims: 1 reshape { } }';
  const written = await prepare({ signature: { inputs: [tensor('A', 'INT64', -1)], outputs: [tensor('B', 'INT64', -1)] }, config });
  expect(written.spec.outputs).toMatchObject([{ name: 'B', dims: [1], reshape: [] }]);
});

it('finds the backend from the file, the platform, the file name and the name of the model', async () => {
  expect((await prepare({})).spec).toMatchObject({ backend: 'onnxruntime', platform: 'onnxruntime_onnx' });
  const files = { '1/net.onnx': '' };
  expect((await prepare({ files, config: 'platform: "onnxruntime_onnx" default_model_filename: "net.onnx"' })).files.modelFile).toBe(
    'net.onnx',
  );
  expect((await prepare({ config: 'default_model_filename: "model.onnx"' })).spec.backend).toBe('onnxruntime');
  expect((await prepare({ config: 'backend: "onnxruntime"' })).spec).toMatchObject({ platform: 'onnxruntime_onnx' });
  const named = await prepare({ name: 'm.identity', files: { '1/': '' }, config: 'input { name: "X" data_type: TYPE_BOOL dims: 1 }' });
  expect(named.spec).toMatchObject({ name: 'm.identity', backend: 'identity', platform: '' });
});

it('completes from a backend that is named, though the config is also of an ensemble', () => {
  const config = { ...emptyConfig, name: 'm', backend: 'python', ensemble_scheduling: { step: [], max_inflight_requests: 0 } };
  expect(completeBackend(config, 'm', new Set()).config.default_model_filename).toBe('model.py');
});

it('names instance groups and counts their instances', async () => {
  const config =
    'instance_group [ { count: 3 }, { kind: KIND_CPU }, { name: "g" kind: KIND_MODEL }, { kind: KIND_GPU }, { kind: KIND_GPU gpus: 1 count: 2 } ]';
  const { spec } = await prepare({ config, gpus: [0, 1] });
  expect(spec.instanceGroups).toMatchObject([
    { name: 'm_0', kind: 'CPU', count: 3, gpus: [] },
    { name: 'm_1', kind: 'CPU', count: 2, gpus: [] },
    { name: 'g', kind: 'MODEL', count: 1, gpus: [] },
    { name: 'm_3', kind: 'GPU', count: 1, gpus: [0, 1] },
    { name: 'm_4', kind: 'GPU', count: 2, gpus: [1] },
  ]);
});

it('compiles what running the model needs', async () => {
  const { spec } = await prepare({
    config: `max_batch_size: 8
      output { name: "C" data_type: TYPE_FP32 dims: 4 label_filename: "labels.txt" }
      dynamic_batching { max_queue_delay_microseconds: 1500 default_queue_policy { max_queue_size: 7 } }
      parameters { key: "intra_op_thread_count" value { string_value: "2" } }
      optimization { graph { level: -1 } }`,
    files: { '1/model.onnx': '', 'labels.txt': 'cat\ndog\r\n\nbird\n' },
  });
  expect(spec).toMatchObject({
    dynamicBatching: { preferredBatchSizes: [8], maxQueueDelayMs: 1.5 },
    maxQueueSize: 7,
    graphLevel: -1,
    parameters: new Map([['intra_op_thread_count', '2']]),
    outputs: [{ name: 'C', labels: ['cat', 'dog', '', 'bird'] }],
  });
});

it('reads no label file outside the folder of the model', async () => {
  const { spec } = await prepare({
    config: `output { name: "C" data_type: TYPE_FP32 dims: 4 label_filename: "../m/../../../../etc/hostname" }`,
  });
  expect(spec.outputs).toMatchObject([{ name: 'C', labels: [] }]);
});
