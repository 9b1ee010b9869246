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
    platform: honoured('`onnxruntime_onnx`, `ensemble`, or empty; what clients read as the platform'),
    backend: honoured('`onnxruntime` or another backend of this server; found from the files where it is empty'),
    runtime: refused('backends are part of the server: there is no library to name'),
    version_policy: honoured('latest 1 where it is missing'),
    max_batch_size: honoured('0 for a model without batch dimension'),
    input: honoured('completed from the model where it is missing'),
    output: honoured('completed from the model where it is missing'),
    batch_input: honoured('inputs that tell the model of the requests in its batch; not for the built-in test backends, which read none'),
    batch_output: honoured(
      'outputs that are split by the shapes of an input; for `onnxruntime`, other backends answer each request by itself',
    ),
    optimization: honoured('by its fields'),
    dynamic_batching: honoured('by its fields'),
    sequence_batching: honoured('by its fields'),
    ensemble_scheduling: honoured('by its fields; with `platform: "ensemble"` and no backend'),
    instance_group: honoured('one group of the default count where it is missing'),
    default_model_filename: honoured('`model.onnx` for `onnxruntime`; must stay inside the version folder'),
    cc_model_filenames: refused('a file per GPU generation is not built yet'),
    metric_tags: refused('labels of metrics are not built yet'),
    parameters: honoured('read by the backend; those of [Parameters](#parameters) by Weir itself'),
    model_warmup: honoured('runs on every instance before the version is ready; a sample that fails fails the load'),
    model_operations: honoured('by its fields'),
    model_transaction_policy: honoured('by its fields'),
    model_repository_agents: honoured('by its fields'),
    response_cache: honoured('by its fields'),
    model_metrics: honoured('by its fields'),
  },
  ModelRateLimiter: {
    resources: honoured('taken while an instance runs, with `--rate-limit=execution_count`'),
    priority: honoured('2 gets half the turns of 1, with `--rate-limit=execution_count`; 1 where it is 0'),
  },
  'ModelRateLimiter.Resource': {
    name: honoured('which'),
    global: honoured('one pool for the whole server, else one for each device'),
    count: honoured('how much of it'),
  },
  ModelInstanceGroup: {
    name: honoured('the name of the model, or that and the number of the group, where it is empty'),
    kind: honoured('`KIND_AUTO` is `KIND_CPU`; `KIND_GPU` needs a GPU and the CUDA execution provider'),
    count: honoured('2 for `onnxruntime` on CPU, else 1, where it is below 1'),
    rate_limiter: honoured('by its fields'),
    gpus: honoured('every GPU where it is empty and the kind is `KIND_GPU`'),
    secondary_devices: refused('there is no backend for such devices'),
    profile: refused(tensorRtOnly),
    passive: honoured('the instances are loaded, and get no requests'),
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
    allow_ragged_batch: honoured('requests of unequal shapes batch: the model gets their elements end to end'),
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
  BatchInput: {
    kind: honoured('what is told'),
    target_name: honoured('inputs of the model; clients do not send them'),
    data_type: honoured('`TYPE_INT32` or `TYPE_FP32`'),
    source_input: honoured('one input, of which it is told'),
  },
  BatchOutput: {
    target_name: honoured('outputs of the model'),
    kind: honoured('there is one'),
    source_input: honoured('one input, by whose shapes they are split'),
  },
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
    parameters: honoured('read by the backend; those of [Parameters](#parameters) by Weir itself'),
  },
  'ModelOptimizationPolicy.PinnedMemoryBuffer': { enable: noEffect('as the message that holds it') },
  ModelQueuePolicy: {
    timeout_action: honoured('`REJECT` answers with an error; `DELAY` puts the request behind all others of its level'),
    default_timeout_microseconds: honoured('0 for none; counts only while the request waits'),
    allow_timeout_override: honoured('a request may shorten the default timeout, and not lengthen it'),
    max_queue_size: honoured("the server's bound where it is 0"),
  },
  ModelDynamicBatching: {
    preferred_batch_size: honoured('`max_batch_size` where it is empty'),
    max_queue_delay_microseconds: honoured('0 where it is missing'),
    preserve_ordering: honoured('answers leave in the order in which their requests came'),
    priority_levels: honoured('1 is the most urgent; 0 for none'),
    default_priority_level: honoured('of requests without priority, or with one beyond the levels'),
    default_queue_policy: honoured('by its fields'),
    priority_queue_policy: honoured('by level, where it differs'),
  },
  ModelSequenceBatching: {
    direct: honoured('a sequence holds a row of the batches of one instance; the strategy where none is chosen'),
    oldest: honoured('requests of several sequences batch by age, one of each sequence at a time'),
    max_sequence_idle_microseconds: honoured('1000000 where it is 0'),
    control_input: honoured('by its fields'),
    state: honoured('by its fields'),
    iterative_sequence: honoured('the model may run a request again as its next step'),
  },
  'ModelSequenceBatching.Control': {
    kind: honoured('what the input tells'),
    int32_false_true: honoured('the two values, for any kind but CORRID'),
    fp32_false_true: honoured('as `int32_false_true`'),
    bool_false_true: honoured('as `int32_false_true`'),
    data_type: honoured('of CORRID: `TYPE_UINT64`, `TYPE_INT64`, `TYPE_UINT32`, `TYPE_INT32` or `TYPE_STRING`'),
  },
  'ModelSequenceBatching.ControlInput': {
    name: honoured('an input of the model; clients do not send it'),
    control: honoured('one of each kind at most'),
  },
  'ModelSequenceBatching.InitialState': {
    data_type: honoured('that of the state'),
    dims: honoured('those of the state, with a size for each -1'),
    zero_data: honoured('zeros, or empty strings'),
    data_file: honoured('a file of the folder `initial_state` of the model'),
    name: honoured('required'),
  },
  'ModelSequenceBatching.State': {
    input_name: honoured('an input of the model; clients do not send it'),
    output_name: honoured('an output of the model; clients get it where `output` has it too'),
    data_type: honoured('required'),
    dims: honoured('without the batch dimension; -1 begins as 1 and may change with each step'),
    initial_state: honoured('one; zeros where it is missing'),
    use_same_buffer_for_input_output: noEffect('how a state is kept is not for the config to say'),
    use_growable_memory: noEffect('every state may grow'),
  },
  'ModelSequenceBatching.StrategyDirect': {
    max_queue_delay_microseconds: honoured('waits so long for the rows of `minimum_slot_utilization`'),
    minimum_slot_utilization: honoured('0 for no wait'),
  },
  'ModelSequenceBatching.StrategyOldest': {
    max_candidate_sequences: honoured('for each instance; `max_batch_size` where it is 0'),
    preferred_batch_size: honoured('`max_batch_size` where it is empty'),
    max_queue_delay_microseconds: honoured('0 where it is missing'),
    preserve_ordering: honoured('answers leave in the order in which their requests came'),
  },
  ModelEnsembling: {
    step: honoured('at least one'),
    max_inflight_requests: honoured('requests of each step that run at once, of all requests of the ensemble together; 0 for any number'),
  },
  'ModelEnsembling.Step': {
    model_name: honoured('required'),
    model_version: honoured('-1 for the newest that is ready; 0, where it is missing, is version 0'),
    input_map: honoured('input of the model to tensor of the ensemble; required'),
    output_map: honoured('output of the model to tensor of the ensemble; required'),
    model_namespace: refused('model namespaces are not built'),
  },
  ModelParameter: { string_value: honoured('read by the backend') },
  ModelWarmup: {
    name: honoured('for messages'),
    batch_size: honoured('requests of one row that run together; 0 for no run at all'),
    inputs: honoured('by name; control inputs and states are among them, since a warm-up has no sequence'),
    count: honoured('1 where it is 0'),
  },
  'ModelWarmup.Input': {
    data_type: honoured('required'),
    dims: honoured('without the batch dimension, and without -1'),
    zero_data: honoured('zeros, or empty strings'),
    random_data: honoured('random values; empty strings for `TYPE_STRING`'),
    input_data_file: honoured('a file of the folder `warmup` of the model'),
  },
  ModelOperations: { op_library_filename: refused('operator libraries are not built yet') },
  ModelTransactionPolicy: {
    decoupled: honoured(
      'the model answers a request any number of times, with a backend that can; of an ensemble it is found from its steps',
    ),
  },
  ModelRepositoryAgents: { agents: refused('repository agents are not built yet') },
  'ModelRepositoryAgents.Agent': refusedWith('agents', ['name', 'parameters']),
  ModelResponseCache: { enable: honoured('answers are kept in the cache of `--cache-config`; without one it has no effect, as in Triton') },
  ModelMetrics: { metric_control: refused('buckets of metrics are not built yet') },
  'ModelMetrics.MetricControl': refusedWith('metric_control', ['metric_identifier', 'histogram_options']),
  'ModelMetrics.MetricControl.MetricIdentifier': refusedWith('metric_control', ['family']),
  'ModelMetrics.MetricControl.HistogramOptions': refusedWith('metric_control', ['buckets']),
};
