import { expect, it } from 'vitest';
import { ConfigFaults } from '../../../src/repository/config/findings.ts';
import { failureOf } from '../support/failure.ts';
import { prepare, tensor } from '../support/prepare.ts';

const identity = 'backend: "identity" ';
const x = 'input { name: "X" data_type: TYPE_FP32 dims: 4 } ';
const y = 'output { name: "Y" data_type: TYPE_FP32 dims: 4 } ';
const onnx =
  'input [ { name: "A" data_type: TYPE_FP32 dims: 4 }, { name: "B" data_type: TYPE_FP32 dims: 4 } ] output { name: "C" data_type: TYPE_FP32 dims: 4 } ';

// Triton's sentences: clients and scripts look for them.
it.each([
  [`name: "other" ${identity}${x}${y}`, "unexpected directory name 'm' for model 'other', directory name must equal model name"],
  [`platform: "caffe" ${x}${y}`, "unexpected platform type 'caffe' for m"],
  [`default_model_filename: "a.bin" ${x}${y}`, "must specify 'platform' or 'backend' for 'm'"],
  [`backend: "python" ${x}${y}`, "unable to find backend library for backend 'python', try specifying runtime on the model configuration."],
  [`platform: "ensemble" ${x}${y}`, 'ensemble scheduling must be set for ensemble m whose platform is ensemble'],
  [`${identity}${x}${y} ensemble_scheduling { }`, "ensemble scheduling cannot be set for model 'm' whose platform is not ensemble"],
  [
    `${identity}${x}${y} model_transaction_policy { decoupled: true }`,
    "backend 'identity' answers each request once: 'decoupled' cannot be set for m",
  ],
  [`${identity}${x}${y} max_batch_size: -1`, "'max_batch_size' must be non-negative value for m"],
  [`${identity} input { data_type: TYPE_FP32 dims: 4 } ${y}`, "model input must specify 'name' for m"],
  [`${identity}${x} output { data_type: TYPE_FP32 dims: 4 }`, "model output must specify 'name' for m"],
  [`${identity} input { name: "X" dims: 4 } ${y}`, "model input 'X' must specify 'data_type' for m"],
  [`${identity}${x} output { name: "Y" data_type: TYPE_FP32 }`, "model output 'Y' must specify 'dims' for m"],
  [
    `${identity} input { name: "X" data_type: TYPE_FP32 dims: 0 } ${y}`,
    "model input 'X' dimension must be integer >= 1, or -1 to indicate a variable-size dimension for m",
  ],
  [`${identity} input { name: "X" data_type: TYPE_FP32 dims: -2 } ${y}`, "model input 'X' dimension must be integer >= 1"],
  [
    `${identity} input { name: "X" data_type: TYPE_FP32 dims: 4 reshape { shape: 0 } } ${y}`,
    "model input 'X' reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension for m",
  ],
  [
    `${identity} input { name: "X" data_type: TYPE_FP32 dims: 1 reshape { } } ${y}`,
    "model input 'X' cannot have empty reshape for non-batching model as scalar tensors are not supported for m",
  ],
  [
    `${identity} max_batch_size: 2 input { name: "X" data_type: TYPE_FP32 dims: 4 reshape { } } ${y}`,
    "model input 'X' has different size for dims and reshape for m",
  ],
  [
    `${identity} input { name: "X" data_type: TYPE_FP32 dims: 4 reshape { shape: [ 3 ] } } ${y}`,
    "model input 'X' has different size for dims and reshape for m",
  ],
  [
    `${identity} input { name: "X" data_type: TYPE_FP32 dims: [ 2, -1 ] reshape { shape: [ -1, 2 ] } } ${y}`,
    "model input 'X' has different size for dims and reshape for m",
  ],
  [
    `${identity} input { name: "X" data_type: TYPE_FP32 dims: [ -1, -1 ] reshape { shape: [ -1 ] } } ${y}`,
    "model input 'X' has different number of variable-size dimensions for dims and reshape for m",
  ],
  [`${identity} input { name: "X" data_type: TYPE_FP32 dims: 4 format: FORMAT_NCHW } ${y}`, 'model input NHWC/NCHW require 3 dims for m'],
  [
    `${identity} input { name: "X" data_type: TYPE_FP32 dims: 4 is_shape_tensor: true } ${y}`,
    'shape tensors are only supported for TensorRT platform for m',
  ],
  [
    `${identity}${x} output { name: "Y" data_type: TYPE_FP32 dims: 4 is_non_linear_format_io: true }`,
    'Non-linear IO format is only supported for the TensorRT platform for m',
  ],
  [
    `${identity}${x}${y} max_batch_size: 4 dynamic_batching { preferred_batch_size: 0 }`,
    'dynamic batching preferred size must be positive for m',
  ],
  [
    `${identity}${x}${y} max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 4, 5 ] }`,
    'dynamic batching preferred size must be <= max batch size for m',
  ],
  [
    `${identity}${x}${y} instance_group { kind: KIND_CPU gpus: 0 }`,
    'instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs',
  ],
  [
    `${identity}${x}${y} instance_group { kind: KIND_MODEL gpus: 0 }`,
    'instance group m_0 of model m has kind KIND_MODEL but specifies one or more GPUs',
  ],
  [
    `${identity}${x}${y} instance_group { name: "g" kind: KIND_GPU }`,
    'instance group g of model m has kind KIND_GPU but no GPUs are available',
  ],
  [
    `${identity}${x}${y} instance_group { kind: KIND_GPU gpus: 7 }`,
    'instance group m_0 of model m specifies invalid or unsupported gpu id 7. GPUs with at least the minimum required CUDA compute compatibility of 6.0 are: ',
  ],
  [
    `${identity}${x}${y} instance_group { profile: "1" }`,
    'instance group m_0 of model m and platform specifies profile field which is only supported for TensorRT models',
  ],
  [`${identity}${x} output { name: "Y" data_type: TYPE_FP32 dims: 4 label_filename: "l.txt" }`, 'failed to open text file for read '],
  [
    `max_batch_size: 4 input { name: "A" data_type: TYPE_FP32 dims: 4 } output { name: "C" data_type: TYPE_FP32 dims: 4 }`,
    "unable to load model 'm', configuration expects 1 inputs, model provides 2",
  ],
  [
    `max_batch_size: 4 ${onnx.replace('"A" data_type: TYPE_FP32', '"A" data_type: TYPE_STRING')}`,
    "unable to load model 'm', configuration expects datatype TYPE_STRING for input 'A', model provides TYPE_FP32",
  ],
  [
    `max_batch_size: 4 ${onnx.replace('"C" data_type: TYPE_FP32', '"C" data_type: TYPE_INT32')}`,
    "unable to load model 'm', configuration expects datatype TYPE_INT32 for output 'C', model provides TYPE_FP32",
  ],
  [`max_batch_size: 4 ${onnx.replace('"B"', '"Z"')}`, "unexpected inference input 'Z', allowed inputs are: A, B"],
  [`max_batch_size: 4 ${onnx.replace('"C"', '"Z"')}`, "unexpected inference output 'Z', allowed outputs are: C"],
  // The batch dimension written twice.
  [
    `max_batch_size: 4 ${onnx.replace('"A" data_type: TYPE_FP32 dims: 4', '"A" data_type: TYPE_FP32 dims: [ -1, 4 ]')}`,
    "model 'm', tensor 'A': the model expects 2 dimensions (shape [-1,4]) but the model configuration specifies 3 dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,-1,4])",
  ],
  [
    onnx,
    "model 'm', tensor 'A': the model expects 2 dimensions (shape [-1,4]) but the model configuration specifies 1 dimensions (shape [4])",
  ],
  // A narrower shape than the model's own.
  [
    onnx.replaceAll('dims: 4', 'dims: [ 2, 4 ]'),
    "model 'm', tensor 'A': the model expects 2 dimensions (shape [-1,4]) but the model configuration specifies 2 dimensions (shape [2,4])",
  ],
  [
    `max_batch_size: 4 ${onnx.replace('dims: 4', 'dims: 4 optional: true')}`,
    "unable to load model 'm', optional input 'A' is not supported for models that support batching",
  ],
])('refuses %s', async (config, text) => {
  const failure = await failureOf(prepare({ config }));
  expect(failure).toBeInstanceOf(ConfigFaults);
  expect(failure.code).toBe(text.startsWith('failed to open text file') ? 'INTERNAL' : 'INVALID_ARGUMENT');
  expect(failure.message).toContain(text);
  expect(failure.message).toMatch(/m\/config\.pbtxt:1\b/);
});

it.each([
  ['runtime: "libtriton_x.so"', 'runtime'],
  ['cc_model_filenames { key: "7.5" value: "a" }', 'cc_model_filenames'],
  ['metric_tags { key: "a" value: "b" }', 'metric_tags'],
  ['model_operations { op_library_filename: "a.so" }', 'model_operations.op_library_filename'],
  ['model_repository_agents { agents { name: "checksum" } }', 'model_repository_agents.agents'],
  ['model_metrics { metric_control { metric_identifier { family: "a" } } }', 'model_metrics.metric_control'],
  ['instance_group { secondary_devices { } }', 'instance_group[0].secondary_devices'],
  ['optimization { cuda { graphs: true } }', 'optimization.cuda.graphs'],
  ['optimization { cuda { graph_spec { } } }', 'optimization.cuda.graph_spec'],
])('names a field that is not built: %s', async (text, field) => {
  const failure = await failureOf(prepare({ config: `${identity}${x}${y}\n\n${text}` }));
  expect(failure.message).toContain(`'${field}' is not supported by this version of Weir for m`);
  expect(failure.message).toContain(`m/config.pbtxt:3:`);
});

it.each([
  'response_cache { enable: false }',
  'model_transaction_policy { decoupled: false }',
  'instance_group { host_policy: "cpu" rate_limiter { } }',
  'optimization { priority: PRIORITY_MAX eager_batching: true input_pinned_memory { enable: false } cuda { } }',
  'dynamic_batching { default_queue_policy { timeout_action: DELAY allow_timeout_override: true max_queue_size: 3 } }',
  'model_operations { } model_metrics { } model_repository_agents { }',
])('takes what asks for nothing: %s', async (text) => {
  const { warnings } = await prepare({ config: `${identity}${x}${y}${text}` });
  expect(warnings).toEqual([]);
});

it('tells all faults of a config together, each with its place', async () => {
  const failure = await failureOf(
    prepare({
      config: `backend: "onnxruntime"
max_batch_size: 4
input [
  { name: "A" data_type: TYPE_INT32 dims: 4 },
  { name: "B" dims: [ 0 ] }
]
output { name: "C" data_type: TYPE_FP32 dims: [ -1, 4 ] }
dynamic_batching { preferred_batch_size: [ 2, 8 ] }
metric_tags { key: "a" value: "b" }
`,
    }),
  );
  expect(failure).toBeInstanceOf(ConfigFaults);
  const faults = failure instanceof ConfigFaults ? failure.faults : [];
  expect(faults.map(({ field, place }) => `${field}:${place?.line}:${place?.column}`).toSorted()).toEqual([
    'dynamic_batching.preferred_batch_size[1]:8:47',
    'input[0].data_type:4:15',
    'input[1].data_type:5:3',
    'input[1].dims:5:15',
    'input[1].dims:5:15',
    'metric_tags:9:1',
    'output[0].dims:7:41',
  ]);
  expect(failure.message).toContain('config.pbtxt:4:15, field input[0].data_type, wanted TYPE_FP32, got TYPE_INT32');
  expect(failure.message).toContain('wanted 1 to 4, got 8');
});

it.each([
  ['platform: "pytorch_libtorch" backend: "onnxruntime"', 'platform', "unexpected 'platform' and 'backend' pair"],
  [`${identity}${x}${x}${y}`, 'input[1].name', "input 'X' of model m is there more than once"],
  [`${identity}${x}${y}${y}`, 'output[1].name', "output 'Y' of model m is there more than once"],
  [`${identity}${x} output { name: "X" data_type: TYPE_FP32 dims: 4 }`, 'output[0].name', "output 'X' of model m has the name of an input"],
  [
    `${identity}${x} output { name: "Y" data_type: TYPE_FP32 dims: 4 label_filename: "../labels.txt" }`,
    'output[0].label_filename',
    'is outside model directory',
  ],
  [`${identity}${x}${y} parameters { value { string_value: "v" } }`, 'parameters[""]', 'has no key'],
  [`${identity}${x}${y} dynamic_batching { default_priority_level: 1 }`, 'dynamic_batching.default_priority_level', 'has no effect'],
  [`${identity}${x}${y} instance_group { count: -2 }`, 'instance_group[0].count', 'negative count'],
  [`${identity}${x}${y} instance_group { name: "g" } instance_group { name: "g" }`, 'instance_group[1].name', 'is named g too'],
])('loads with a warning: %s', async (config, field, text) => {
  const { warnings } = await prepare({ config });
  expect(warnings.filter((line) => !line.startsWith('autofilled'))).toHaveLength(1);
  const line = warnings.find((each) => each.includes(text));
  expect(line).toMatch(/m\/config\.pbtxt:1:/);
  expect(line).toContain(`field ${field}`);
});

it('refuses a model that cannot batch where the config wants batches', async () => {
  const signature = { inputs: [tensor('A', 'FP32', 1, 3)], outputs: [tensor('B', 'FP32', 1, 3)] };
  const completed = await failureOf(prepare({ signature, config: 'max_batch_size: 8' }));
  expect(completed.message).toContain(
    "autofill failed for model 'm': model does not support batching while non-zero max_batch_size is specified",
  );
  const config = 'max_batch_size: 8 input { name: "A" data_type: TYPE_FP32 dims: 3 } output { name: "B" data_type: TYPE_FP32 dims: 3 }';
  expect((await failureOf(prepare({ signature, config }))).message).toContain(
    "model 'm', tensor 'A': for the model to support batching the shape should have at least 1 dimension and the first dimension must be -1; but shape expected by the model is [1,3]",
  );
});

it('refuses a model file outside the version folder', async () => {
  const failure = await failureOf(prepare({ config: `default_model_filename: "../../x/model.onnx" platform: "onnxruntime_onnx"` }));
  expect(failure.message).toContain("model file '../../x/model.onnx' is outside the version directory for m");
});

it('says that the model file is missing, and that a config is', async () => {
  const missing = await failureOf(prepare({ config: 'platform: "onnxruntime_onnx"', files: { '1/': '' } }));
  expect(missing).toMatchObject({ code: 'UNAVAILABLE' });
  expect(missing.message).toMatch(/^unable to find '.*\/m\/1\/model\.onnx' for model instance 'm'$/);
  const strict = await failureOf(prepare({ autoComplete: false }));
  expect(strict.message).toMatch(/^failed to open text file for read .*\/m\/config\.pbtxt: No such file or directory$/);
  const unknown = await failureOf(prepare({ name: 'm.identity', files: { '1/': '' } }));
  expect(unknown).toMatchObject({ code: 'NOT_FOUND', message: "model configuration is not provided for model 'm.identity'" });
  const nameless = await failureOf(prepare({ files: { '1/': '' } }));
  expect(nameless.message).toContain(
    "Invalid model name: Could not determine backend for model 'm' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'.",
  );
  expect(nameless.message).not.toContain('must specify');
});

it('demands inputs and outputs where nothing is completed', async () => {
  const failure = await failureOf(prepare({ autoComplete: false, config: 'platform: "onnxruntime_onnx"' }));
  expect(failure.message).toContain("unable to load model 'm', configuration expects 0 inputs, model provides 2");
});
