import { pythonModel, repeater, reporter, type Scenario, type ScenarioModel, signature } from '../scenario.ts';
import { countedSignature, ensemble, repeats, step, tensor } from './ensemble-models.ts';

/** Models that are not asked: where each stands in the index, and why, is what is compared. */
const loads = (name: string, models: readonly ScenarioModel[]): Scenario => ({ name: `load: ${name}`, models, asks: [] });

const report = 'name: "REPORT" data_type: TYPE_STRING dims: [ 1 ]';

const named = (prefix: string, configs: Readonly<Record<string, string>>): readonly ScenarioModel[] =>
  Object.entries(configs).map(([name, config]) => reporter(`${prefix}_${name}`, config));

const batching = named('bad_batching', {
  negative_rows: 'max_batch_size: -1',
  size_zero: 'max_batch_size: 4\ndynamic_batching { preferred_batch_size: [ 0 ] }',
  size_large: 'max_batch_size: 4\ndynamic_batching { preferred_batch_size: [ 2, 8 ] }',
  default_level: 'max_batch_size: 4\ndynamic_batching { priority_levels: 2 default_priority_level: 3 }',
  default_none: 'max_batch_size: 4\ndynamic_batching { priority_levels: 2 }',
  level_policy:
    'max_batch_size: 4\ndynamic_batching { priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 5 value { } } }',
  ordered_levels: 'max_batch_size: 4\ndynamic_batching { preserve_ordering: true priority_levels: 2 default_priority_level: 1 }',
  ordered_delay:
    'max_batch_size: 4\ndynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 } }',
  cached_sequence: 'max_batch_size: 4\nsequence_batching { }\nresponse_cache { enable: true }',
  cached_decoupled: 'max_batch_size: 4\nmodel_transaction_policy { decoupled: true }\nresponse_cache { enable: true }',
  policy_none: 'version_policy { specific { versions: [ 5 ] } }',
  policy_latest_none: 'version_policy { latest { num_versions: 0 } }',
  with_platform: 'platform: "onnxruntime_onnx"',
  no_such_field: 'max_batch_sizes: 4',
  no_text: 'max_batch_size: "four"',
  gpu: 'instance_group [ { kind: KIND_GPU count: 1 } ]',
  cpu_gpus: 'instance_group [ { kind: KIND_CPU count: 1 gpus: [ 0 ] } ]',
  model_gpus: 'instance_group [ { kind: KIND_MODEL count: 1 gpus: [ 0 ] } ]',
  another_name: 'name: "another"',
  metrics_identifier: 'model_metrics { metric_control [ { histogram_options { buckets: [ 1 ] } } ] }',
  metrics_family: 'model_metrics { metric_control [ { metric_identifier { } histogram_options { buckets: [ 1 ] } } ] }',
  metrics_options: 'model_metrics { metric_control [ { metric_identifier { family: "x" } } ] }',
  metrics_buckets: 'model_metrics { metric_control [ { metric_identifier { family: "x" } histogram_options { } } ] }',
});

const withTensors = (name: string, inputs: readonly string[], outputs: readonly string[], more = ''): ScenarioModel =>
  pythonModel(`bad_tensor_${name}`, 'reporter', `${signature(inputs, outputs)}\n${more}`);

const tensors = [
  withTensors('no_name', ['data_type: TYPE_INT32 dims: [ 1 ]'], [report]),
  withTensors('no_type', ['name: "X" dims: [ 1 ]'], [report]),
  withTensors('no_dims', ['name: "X" data_type: TYPE_INT32'], [report]),
  withTensors('dim_zero', [tensor('X', '0')], [report]),
  withTensors('dim_negative', [tensor('X', '-2')], [report]),
  withTensors('out_no_name', [tensor('X')], ['data_type: TYPE_INT32 dims: [ 1 ]']),
  withTensors('out_no_type', [tensor('X')], ['name: "Y" dims: [ 1 ]']),
  withTensors('out_no_dims', [tensor('X')], ['name: "Y" data_type: TYPE_INT32']),
  withTensors('reshape_zero', [tensor('X', '4', 'reshape { shape: [ 0 ] }')], [report]),
  withTensors('reshape_size', [tensor('X', '4', 'reshape { shape: [ 2, 3 ] }')], [report]),
  withTensors('reshape_open', [tensor('X', '-1, 2', 'reshape { shape: [ 4 ] }')], [report]),
  withTensors('reshape_parts', [tensor('X', '-1, 2', 'reshape { shape: [ 4, -1 ] }')], [report]),
  withTensors('reshape_scalar', [tensor('X', '1', 'reshape { shape: [ ] }')], [report]),
  withTensors('reshape_output', [tensor('X')], [tensor('Y', '4', 'reshape { shape: [ 2, 3 ] }')]),
  withTensors('format', [tensor('X', '2, 2', 'format: FORMAT_NHWC')], [report]),
  withTensors('shape_tensor', [tensor('X', '2', 'is_shape_tensor: true')], [report]),
  withTensors('label_missing', [tensor('X')], [`${report} label_filename: "labels.txt"`]),
  withTensors(
    'batch_kind',
    [tensor('X', '-1')],
    [report],
    'max_batch_size: 4\nbatch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "T" data_type: TYPE_INT32 } ]',
  ),
  withTensors(
    'batch_type',
    [tensor('X', '-1')],
    [report],
    'max_batch_size: 4\nbatch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "T" data_type: TYPE_INT64 source_input: "X" } ]',
  ),
  withTensors(
    'batch_source',
    [tensor('X', '-1')],
    [report],
    'max_batch_size: 4\nbatch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "T" data_type: TYPE_INT32 source_input: "Z" } ]',
  ),
];

const control = (text: string): string => `max_batch_size: 4\nsequence_batching { control_input [ ${text} ] }`;
const start = 'kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ]';

const sequences = named('bad_sequence', {
  control_name: control(`{ control { ${start} } }`),
  control_kinds: control(`{ name: "A" control [ { ${start} }, { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] } ] }`),
  control_twice: control(`{ name: "A" control { ${start} } }, { name: "B" control { ${start} } }`),
  control_none: control('{ name: "A" control { kind: CONTROL_SEQUENCE_START } }'),
  control_both: control('{ name: "A" control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] fp32_false_true: [ 0, 1 ] } }'),
  control_one: control('{ name: "A" control { kind: CONTROL_SEQUENCE_READY bool_false_true: [ true ] } }'),
  control_fp32: control('{ name: "A" control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [ 0, 1, 2 ] } }'),
  corrid_values: control('{ name: "A" control { kind: CONTROL_SEQUENCE_CORRID int32_false_true: [ 0, 1 ] } }'),
  corrid_type: control('{ name: "A" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 } }'),
  corrid_none: control('{ name: "A" control { kind: CONTROL_SEQUENCE_CORRID } }'),
  size_zero: 'max_batch_size: 4\nsequence_batching { oldest { preferred_batch_size: [ 0 ] } }',
  size_large: 'max_batch_size: 4\nsequence_batching { oldest { preferred_batch_size: [ 9 ] } }',
  utilization: 'max_batch_size: 4\nsequence_batching { direct { minimum_slot_utilization: 1.5 } }',
});

const state = (text: string): string => `max_batch_size: 4\nsequence_batching { state [ ${text} ] }`;
const stateOf = (more: string, dims = '2', inputName = 'S'): string =>
  `{ input_name: "${inputName}" output_name: "T" data_type: TYPE_INT32 dims: [ ${dims} ] ${more} }`;

const states = named('bad_state', {
  two_initial: state(
    stateOf(
      'initial_state [ { name: "a" data_type: TYPE_INT32 dims: [ 2 ] zero_data: true }, { name: "b" data_type: TYPE_INT32 dims: [ 2 ] zero_data: true } ]',
    ),
  ),
  initial_type: state(stateOf('initial_state { name: "a" data_type: TYPE_FP32 dims: [ 2 ] zero_data: true }')),
  initial_name: state(stateOf('initial_state { data_type: TYPE_INT32 dims: [ 2 ] zero_data: true }')),
  twice: state(`${stateOf('')}, ${stateOf('')}`),
  initial_rank: state(stateOf('initial_state { name: "a" data_type: TYPE_INT32 dims: [ 2, 2 ] zero_data: true }')),
  initial_open: state(stateOf('initial_state { name: "a" data_type: TYPE_INT32 dims: [ -1 ] zero_data: true }', '-1')),
  initial_dims: state(stateOf('initial_state { name: "a" data_type: TYPE_INT32 dims: [ 3 ] zero_data: true }')),
});

const inOut = (rows = 4): string => `max_batch_size: ${rows}\n${signature([tensor('IN')], [tensor('OUT')])}`;

const composing: readonly ScenarioModel[] = [
  step('part', {}),
  step('part_two', {}, { outputs: [tensor('Y'), tensor('Z')] }),
  step('part_join', {}, { inputs: [tensor('A'), tensor('B')] }),
  pythonModel('part_float', 'step', `max_batch_size: 4\n${signature(['name: "X" data_type: TYPE_FP32 dims: [ 1 ]'], [tensor('Y')])}`),
  pythonModel('part_wide', 'step', `max_batch_size: 4\n${signature([tensor('X', '3')], [tensor('Y', '3')])}`),
  pythonModel('part_broken', 'reporter', 'max_batch_size: -5'),
];

const one = (
  name: string,
  inputs: Readonly<Record<string, string>>,
  outputs: Readonly<Record<string, string>>,
  model = 'part',
  more = inOut(),
) => ensemble(`bad_ensemble_${name}`, more, [{ model, inputs, outputs }]);

const raw = (name: string, config: string): ScenarioModel => ({ name: `bad_ensemble_${name}`, config, files: {} });

const good = { inputs: { X: 'IN' }, outputs: { Y: 'OUT' } };

const ensembles: readonly ScenarioModel[] = [
  raw('no_step', `platform: "ensemble"\n${inOut()}\nensemble_scheduling { }`),
  raw('no_scheduling', `platform: "ensemble"\n${inOut()}`),
  raw(
    'backend',
    `platform: "ensemble"\nbackend: "python"\n${inOut()}\nensemble_scheduling { step [ { model_name: "part" model_version: -1 } ] }`,
  ),
  one('no_model', good.inputs, good.outputs, ''),
  one('no_inputs', {}, good.outputs),
  one('no_outputs', good.inputs, {}),
  one('not_there', good.inputs, good.outputs, 'no_such_model'),
  one('broken', good.inputs, good.outputs, 'part_broken'),
  one('input_name', { W: 'IN' }, good.outputs),
  one('output_name', good.inputs, { W: 'OUT' }),
  one(
    'input_unused',
    good.inputs,
    good.outputs,
    'part',
    `max_batch_size: 4\n${signature([tensor('IN'), tensor('MORE')], [tensor('OUT')])}`,
  ),
  one(
    'output_unwritten',
    good.inputs,
    good.outputs,
    'part',
    `max_batch_size: 4\n${signature([tensor('IN')], [tensor('OUT'), tensor('MORE')])}`,
  ),
  one('tensor_unused', good.inputs, { Y: 'OUT', Z: 'left' }, 'part_two'),
  one('input_unmapped', { A: 'IN' }, good.outputs, 'part_join'),
  one('type', good.inputs, good.outputs, 'part_float'),
  one('shape', good.inputs, good.outputs, 'part_wide'),
  one('rows', good.inputs, good.outputs, 'part', inOut(8)),
  one('instances', good.inputs, good.outputs, 'part', `${inOut()}\ninstance_group [ { kind: KIND_CPU count: 1 } ]`),
  one('optimization', good.inputs, good.outputs, 'part', `${inOut()}\noptimization { priority: PRIORITY_MAX }`),
  one(
    'warm_up',
    good.inputs,
    good.outputs,
    'part',
    `${inOut()}\nmodel_warmup [ { name: "w" batch_size: 1 inputs { key: "IN" value { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } } } ]`,
  ),
  ensemble('bad_ensemble_two_writers', inOut(), [
    { model: 'part', ...good },
    { model: 'part', ...good },
  ]),
  ensemble('bad_ensemble_unconnected', inOut(), [{ model: 'part_join', inputs: { A: 'IN', B: 'nowhere' }, outputs: { Y: 'OUT' } }]),
  ensemble('bad_ensemble_itself', inOut(), [{ model: 'bad_ensemble_itself', inputs: { IN: 'IN' }, outputs: { OUT: 'OUT' } }]),
  ensemble('bad_ensemble_ring_a', inOut(), [{ model: 'bad_ensemble_ring_b', inputs: { IN: 'IN' }, outputs: { OUT: 'OUT' } }]),
  ensemble('bad_ensemble_ring_b', inOut(), [{ model: 'bad_ensemble_ring_a', inputs: { IN: 'IN' }, outputs: { OUT: 'OUT' } }]),
  raw(
    'version',
    `platform: "ensemble"\n${inOut()}\nensemble_scheduling { step [ { model_name: "part" model_version: 7 input_map { key: "X" value: "IN" } output_map { key: "Y" value: "OUT" } } ] }`,
  ),
  raw(
    'version_below',
    `platform: "ensemble"\n${inOut()}\nensemble_scheduling { step [ { model_name: "part" model_version: -2 input_map { key: "X" value: "IN" } output_map { key: "Y" value: "OUT" } } ] }`,
  ),
  one('same_output', good.inputs, { Y: 'OUT', Z: 'OUT' }, 'part_two'),
  raw(
    'key_twice',
    `platform: "ensemble"\n${inOut()}\nensemble_scheduling { step [ { model_name: "part" model_version: -1 input_map { key: "X" value: "other" } input_map { key: "X" value: "IN" } output_map { key: "Y" value: "OUT" } } ] }`,
  ),
  one('input_dims', good.inputs, good.outputs, 'part', `max_batch_size: 4\n${signature([tensor('IN', '3')], [tensor('OUT')])}`),
  one('output_dims', good.inputs, good.outputs, 'part', `max_batch_size: 4\n${signature([tensor('IN')], [tensor('OUT', '3')])}`),
  one('no_rows', good.inputs, good.outputs, 'part', `max_batch_size: 0\n${signature([tensor('IN')], [tensor('OUT')])}`),
  raw(
    'version_unset',
    `platform: "ensemble"\n${inOut()}\nensemble_scheduling { step [ { model_name: "part" input_map { key: "X" value: "IN" } output_map { key: "Y" value: "OUT" } } ] }`,
  ),
];

/** Their tensors are of different rows where they meet. */
const mixed: readonly ScenarioModel[] = [
  repeater('part_many'),
  step('part_flat', {}, { rows: 0, inputs: [tensor('A'), tensor('B')] }),
  ensemble('bad_ensemble_row_and_input', countedSignature(tensor('OUT')), [
    repeats('part_many', 'row'),
    { model: 'part_flat', inputs: { A: 'row', B: 'WAIT' }, outputs: { Y: 'OUT' } },
  ]),
  ensemble('bad_ensemble_two_rows', countedSignature(tensor('OUT')), [
    repeats('part_many', 'left'),
    repeats('part_many', 'right'),
    { model: 'part_flat', inputs: { A: 'left', B: 'right' }, outputs: { Y: 'OUT' } },
  ]),
  ensemble('bad_ensemble_outputs_of_rows', countedSignature(tensor('OUT'), tensor('WAIT')), [repeats('part_many', 'OUT')]),
  ensemble('bad_ensemble_says_decoupled', `${inOut()}\nmodel_transaction_policy { decoupled: true }`, [{ model: 'part', ...good }]),
];

const notAnEnsemble = named('bad_kind', {
  scheduling:
    'ensemble_scheduling { step [ { model_name: "part" model_version: -1 input_map { key: "X" value: "IN" } output_map { key: "Y" value: "OUT" } } ] }',
});

const python: readonly ScenarioModel[] = [
  pythonModel('raises_import', 'raiser', signature([tensor('X')], [report])),
  pythonModel(
    'raises_initialize',
    'raiser',
    `${signature([tensor('X')], [report])}\nparameters { key: "where" value { string_value: "initialize" } }`,
  ),
  pythonModel(
    'raises_warm_up',
    'raiser',
    `max_batch_size: 2\n${signature([tensor('X')], [report])}
model_warmup [ { name: "one" batch_size: 1 inputs { key: "X" value { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } } } ]`,
  ),
  {
    name: 'no_syntax',
    config: `backend: "python"\n${signature([tensor('X')], [report])}\ninstance_group [ { kind: KIND_CPU } ]`,
    files: { '1/model.py': 'class TritonPythonModel:\n    def execute(self, requests)\n        return []\n' },
  },
  {
    name: 'no_class',
    config: `backend: "python"\n${signature([tensor('X')], [report])}\ninstance_group [ { kind: KIND_CPU } ]`,
    files: { '1/model.py': 'class Model:\n    pass\n' },
  },
  {
    name: 'no_such_backend',
    config: `backend: "nothing"\n${signature([tensor('X')], [report])}\ninstance_group [ { kind: KIND_CPU } ]`,
    files: { '1/model.py': '' },
  },
  { name: 'no_backend', config: signature([tensor('X')], [report]), files: { '1/other.txt': '' } },
];

export const loadErrors: readonly Scenario[] = [
  loads('batching and the rest of a config', batching),
  loads('tensors', tensors),
  loads('sequences', sequences),
  loads('states', states),
  loads('ensembles', [...composing, ...ensembles, ...mixed, ...notAnEnsemble]),
  loads('Python models', python),
];
