/** What this version does with a field of the model configuration. */
export interface FieldRow {
  /**
   * `honoured`  it does what it says; a message's own fields each have a row.
   * `no effect` taken and shown to clients; it has nothing to act on here.
   * `refused`   a model that sets it does not load.
   */
  readonly decision: 'honoured' | 'no effect' | 'refused';
  /** For `docs/configuration.md`. */
  readonly note: string;
  /** Triton's own text for a refusal that it shares. */
  readonly text?: string;
}

type Rows = Readonly<Record<string, FieldRow>>;

const honoured = (note: string): FieldRow => ({ decision: 'honoured', note });
const noEffect = (note: string): FieldRow => ({ decision: 'no effect', note });
const refused = (note: string, text?: string): FieldRow => ({ decision: 'refused', note, ...(text === undefined ? {} : { text }) });

const refusedWith = (owner: string, fields: readonly string[]): Rows =>
  Object.fromEntries(fields.map((field) => [field, refused(`with \`${owner}\``)]));

const tensorRtOnly = 'TensorRT only, as in Triton';
const shapeTensor = refused(tensorRtOnly, 'shape tensors are only supported for TensorRT platform');
const nonLinear = refused(tensorRtOnly, 'Non-linear IO format is only supported for the TensorRT platform');

/**
 * The decision for every field of every message of `model_config.proto`, by message and field. Nothing that a user writes is ignored in
 * silence: a test holds this table against the proto file and against the page in `docs`.
 */
export const fieldRows: Readonly<Record<string, Rows>> = {
  ModelConfig: {
    name: honoured('must be the name of the model folder; empty for that name'),
    platform: honoured('`onnxruntime_onnx`, or empty; what clients read as the platform'),
    backend: honoured('`onnxruntime` or another backend of this server; found from the files where it is empty'),
    runtime: refused('backends are part of the server: there is no library to name'),
    version_policy: honoured('latest 1 where it is missing'),
    max_batch_size: honoured('0 for a model without batch dimension'),
    input: honoured('completed from the model where it is missing'),
    output: honoured('completed from the model where it is missing'),
    batch_input: refused('needs ragged batching'),
    batch_output: refused('needs ragged batching'),
    optimization: honoured('by its fields'),
    dynamic_batching: honoured('by its fields'),
    sequence_batching: refused('not built yet'),
    ensemble_scheduling: refused('not built yet'),
    instance_group: honoured('one group of the default count where it is missing'),
    default_model_filename: honoured('`model.onnx` for `onnxruntime`; must stay inside the version folder'),
    cc_model_filenames: refused('a file per GPU generation is not built yet'),
    metric_tags: refused('labels of metrics are not built yet'),
    parameters: honoured('read by the backend'),
    model_warmup: refused('not built yet'),
    model_operations: honoured('by its fields'),
    model_transaction_policy: honoured('by its fields'),
    model_repository_agents: honoured('by its fields'),
    response_cache: honoured('by its fields'),
    model_metrics: honoured('by its fields'),
  },
  ModelRateLimiter: {
    resources: refused('the rate limiter is not built yet'),
    priority: refused('the rate limiter is not built yet'),
  },
  'ModelRateLimiter.Resource': refusedWith('resources', ['name', 'global', 'count']),
  ModelInstanceGroup: {
    name: honoured('the name of the model, or that and the number of the group, where it is empty'),
    kind: honoured('`KIND_AUTO` is `KIND_CPU`; `KIND_GPU` needs a GPU and the CUDA execution provider'),
    count: honoured('2 for `onnxruntime` on CPU, else 1, where it is below 1'),
    rate_limiter: honoured('by its fields'),
    gpus: honoured('every GPU where it is empty and the kind is `KIND_GPU`'),
    secondary_devices: refused('there is no backend for such devices'),
    profile: refused(tensorRtOnly),
    passive: refused('not built yet'),
    host_policy: noEffect('there are no host policies to choose from: a name that is not defined is unused, as in Triton'),
  },
  'ModelInstanceGroup.SecondaryDevice': refusedWith('secondary_devices', ['kind', 'device_id']),
  ModelTensorReshape: {
    shape: honoured('the shape that the model sees; empty for a scalar'),
  },
  ModelInput: {
    name: honoured('required'),
    data_type: honoured('required'),
    format: honoured('the image formats require 3 dims, and change nothing else'),
    dims: honoured('required; without the batch dimension'),
    reshape: honoured('by its fields'),
    is_shape_tensor: shapeTensor,
    allow_ragged_batch: refused('ragged batching is not built yet'),
    optional: honoured('the client may leave the input out; for `onnxruntime` only without a batch dimension'),
    is_non_linear_format_io: nonLinear,
  },
  ModelOutput: {
    name: honoured('required'),
    data_type: honoured('required'),
    dims: honoured('required; without the batch dimension'),
    reshape: honoured('by its fields'),
    label_filename: honoured('a file of the model folder with one label a line'),
    is_shape_tensor: shapeTensor,
    is_non_linear_format_io: nonLinear,
  },
  BatchInput: refusedWith('batch_input', ['kind', 'target_name', 'data_type', 'source_input']),
  BatchOutput: refusedWith('batch_output', ['target_name', 'kind', 'source_input']),
  ModelVersionPolicy: {
    latest: honoured('the highest versions'),
    all: honoured('every version'),
    specific: honoured('these versions; one that is not there is logged'),
  },
  'ModelVersionPolicy.Latest': { num_versions: honoured('how many') },
  'ModelVersionPolicy.All': {},
  'ModelVersionPolicy.Specific': { versions: honoured('which') },
  ModelOptimizationPolicy: {
    graph: honoured('by its fields'),
    priority: noEffect('there are no scheduler threads whose priority it could set'),
    cuda: honoured('by its fields'),
    execution_accelerators: honoured('by its fields'),
    input_pinned_memory: noEffect('pinned memory concerns copies to a GPU, which the execution provider makes'),
    output_pinned_memory: noEffect('pinned memory concerns copies to a GPU, which the execution provider makes'),
    gather_kernel_buffer_threshold: noEffect(tensorRtOnly),
    eager_batching: noEffect(tensorRtOnly),
  },
  'ModelOptimizationPolicy.Graph': { level: honoured('read by the backend') },
  'ModelOptimizationPolicy.Cuda': {
    graphs: refused('CUDA graphs are not built'),
    busy_wait_events: refused('CUDA options are not built'),
    graph_spec: refused('CUDA graphs are not built'),
    output_copy_stream: refused('CUDA options are not built'),
  },
  'ModelOptimizationPolicy.Cuda.GraphSpec': refusedWith('graph_spec', ['batch_size', 'input', 'graph_lower_bound']),
  'ModelOptimizationPolicy.Cuda.GraphSpec.Shape': refusedWith('graph_spec', ['dim']),
  'ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound': refusedWith('graph_spec', ['batch_size', 'input']),
  'ModelOptimizationPolicy.ExecutionAccelerators': {
    gpu_execution_accelerator: honoured('read by the backend, which refuses those that it does not have'),
    cpu_execution_accelerator: honoured('read by the backend, which refuses those that it does not have'),
  },
  'ModelOptimizationPolicy.ExecutionAccelerators.Accelerator': {
    name: honoured('read by the backend'),
    parameters: honoured('read by the backend'),
  },
  'ModelOptimizationPolicy.PinnedMemoryBuffer': { enable: noEffect('as the message that holds it') },
  ModelQueuePolicy: {
    timeout_action: noEffect('there are no timeouts yet on which to act'),
    default_timeout_microseconds: refused('timeouts in the queue are not built yet'),
    allow_timeout_override: noEffect('an override can only shorten a default timeout, and there is none yet'),
    max_queue_size: honoured("the server's bound where it is 0"),
  },
  ModelDynamicBatching: {
    preferred_batch_size: honoured('`max_batch_size` where it is empty'),
    max_queue_delay_microseconds: honoured('0 where it is missing'),
    preserve_ordering: refused('not built yet'),
    priority_levels: refused('priorities are not built yet'),
    default_priority_level: noEffect('has none without `priority_levels`'),
    default_queue_policy: honoured('by its fields'),
    priority_queue_policy: refused('priorities are not built yet'),
  },
  ModelSequenceBatching: refusedWith('sequence_batching', [
    'direct',
    'oldest',
    'max_sequence_idle_microseconds',
    'control_input',
    'state',
    'iterative_sequence',
  ]),
  'ModelSequenceBatching.Control': refusedWith('sequence_batching', [
    'kind',
    'int32_false_true',
    'fp32_false_true',
    'bool_false_true',
    'data_type',
  ]),
  'ModelSequenceBatching.ControlInput': refusedWith('sequence_batching', ['name', 'control']),
  'ModelSequenceBatching.InitialState': refusedWith('sequence_batching', ['data_type', 'dims', 'zero_data', 'data_file', 'name']),
  'ModelSequenceBatching.State': refusedWith('sequence_batching', [
    'input_name',
    'output_name',
    'data_type',
    'dims',
    'initial_state',
    'use_same_buffer_for_input_output',
    'use_growable_memory',
  ]),
  'ModelSequenceBatching.StrategyDirect': refusedWith('sequence_batching', ['max_queue_delay_microseconds', 'minimum_slot_utilization']),
  'ModelSequenceBatching.StrategyOldest': refusedWith('sequence_batching', [
    'max_candidate_sequences',
    'preferred_batch_size',
    'max_queue_delay_microseconds',
    'preserve_ordering',
  ]),
  ModelEnsembling: refusedWith('ensemble_scheduling', ['step', 'max_inflight_requests']),
  'ModelEnsembling.Step': refusedWith('ensemble_scheduling', ['model_name', 'model_version', 'input_map', 'output_map', 'model_namespace']),
  ModelParameter: { string_value: honoured('read by the backend') },
  ModelWarmup: refusedWith('model_warmup', ['name', 'batch_size', 'inputs', 'count']),
  'ModelWarmup.Input': refusedWith('model_warmup', ['data_type', 'dims', 'zero_data', 'random_data', 'input_data_file']),
  ModelOperations: { op_library_filename: refused('operator libraries are not built yet') },
  ModelTransactionPolicy: { decoupled: refused('no backend of this version answers a request more than once') },
  ModelRepositoryAgents: { agents: refused('repository agents are not built yet') },
  'ModelRepositoryAgents.Agent': refusedWith('agents', ['name', 'parameters']),
  ModelResponseCache: { enable: refused('the response cache is not built yet') },
  ModelMetrics: { metric_control: refused('buckets of metrics are not built yet') },
  'ModelMetrics.MetricControl': refusedWith('metric_control', ['metric_identifier', 'histogram_options']),
  'ModelMetrics.MetricControl.MetricIdentifier': refusedWith('metric_control', ['family']),
  'ModelMetrics.MetricControl.HistogramOptions': refusedWith('metric_control', ['buckets']),
};
