import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ConfigEnsembleStep, ConfigEnsembling, ModelConfig } from './model-config.ts';

const stepField = (index: number): string => `ensemble_scheduling.step[${index}]`;

/** What an ensemble has no use for: Triton's refusals, and those of what it would ignore. */
const checkOtherFields = (name: string, written: ModelConfig): readonly Finding[] => {
  const findings: Finding[] = [];
  if (written.instance_group.length > 0)
    findings.push(fault('instance_group', `instance group should not be specified for ensemble '${name}'`));
  if (written.optimization !== undefined)
    findings.push(fault('optimization', `optimization should not be specified for ensemble '${name}'`));
  if (written.model_warmup.length > 0) findings.push(fault('model_warmup', `model_warmup can not be specified for ensemble '${name}'`));
  for (const field of ['batch_input', 'batch_output'] as const) {
    if (written[field].length > 0) findings.push(fault(field, `${field} can not be specified for ensemble '${name}'`));
  }
  if (written.default_model_filename !== '') {
    findings.push(warning('default_model_filename', `an ensemble has no model file: 'default_model_filename' has no effect for ${name}`));
  }
  return findings;
};

/** Each step by itself. */
const checkStep = (ensemble: string, step: ConfigEnsembleStep, index: number): readonly Finding[] => {
  const field = stepField(index);
  const end = `in step ${index} of ensemble '${ensemble}'`;
  const findings: Finding[] = [];
  if (step.model_name === '') findings.push(fault(`${field}.model_name`, `must specify 'model_name' ${end}`));
  if (Object.keys(step.input_map).length === 0) findings.push(fault(`${field}.input_map`, `must specify 'input_map' ${end}`));
  if (Object.keys(step.output_map).length === 0) findings.push(fault(`${field}.output_map`, `must specify 'output_map' ${end}`));
  return findings;
};

const entries = (map: Readonly<Record<string, string>>, field: string) =>
  Object.entries(map).map(([key, tensor]) => ({ tensor, field: `${field}["${key}"]` }));

interface Writer {
  readonly who: string;
  readonly step: number;
}

/** Each tensor has one writer: an input of the ensemble, or an output of a step. */
const checkWriters = ({ name, input }: ModelConfig, { step }: ConfigEnsembling): readonly Finding[] => {
  const writers = new Map<string, Writer>(input.map((each) => [each.name, { who: `an input of ensemble '${name}'`, step: -1 }]));
  return step.flatMap(({ model_name, output_map }, index) =>
    entries(output_map, `${stepField(index)}.output_map`).flatMap(({ tensor, field }) => {
      const who = `step ${index}, model '${model_name}'`;
      const before = writers.get(tensor);
      writers.set(tensor, { who, step: index });
      if (before === undefined) return [];
      const text = `ensemble tensor '${tensor}' can appear in an output map only once for ensemble '${name}' step ${index}`;
      return [fault(field, text, { wanted: 'one writer', got: `${before.who}, and ${who}` })];
    }),
  );
};

/** One key of a step's map that stands in the text twice. */
const checkRepeatedKeys = ({ name }: ModelConfig, { step }: ConfigEnsembling, keys: readonly string[]): readonly Finding[] =>
  keys.flatMap((field) => {
    const match = /^ensemble_scheduling\.step\[(\d+)\]\.(input|output)_map\["(.*)"\]$/.exec(field);
    const [, number = '', kind = '', tensor = ''] = match ?? [];
    const model = step[Number(number)]?.model_name;
    if (match === null || model === undefined) return [];
    return [
      fault(field, `${kind} '${tensor}' in model '${model}' is mapped to multiple ensemble tensors for ensemble '${name}' step ${number}`),
    ];
  });

interface Tensor {
  /** The tensors that the step which writes it takes; undefined for one that no step writes. */
  readonly from: readonly string[] | undefined;
  readonly field: string;
}

/** How the tensors come from each other. */
const tensorsOf = ({ step }: ConfigEnsembling): ReadonlyMap<string, Tensor> => {
  const tensors = new Map<string, Tensor>();
  step.forEach(({ output_map, input_map }, index) => {
    for (const { tensor, field } of entries(output_map, `${stepField(index)}.output_map`)) {
      tensors.set(tensor, { from: Object.values(input_map), field });
    }
  });
  step.forEach(({ input_map }, index) => {
    for (const { tensor, field } of entries(input_map, `${stepField(index)}.input_map`)) {
      if (!tensors.has(tensor)) tensors.set(tensor, { from: undefined, field });
    }
  });
  return tensors;
};

/** The tensors that come, by way of steps, from inputs of the ensemble alone. */
const reachable = (inputs: readonly string[], tensors: ReadonlyMap<string, Tensor>): ReadonlySet<string> => {
  const ready = new Set(inputs);
  for (let before = -1; before < ready.size; ) {
    before = ready.size;
    for (const [name, { from }] of tensors) if (from?.every((tensor) => ready.has(tensor))) ready.add(name);
  }
  return ready;
};

/** Whether all that comes in is used and all that goes out is made. The stray quotes are Triton's. */
const checkFlow = ({ name, input, output }: ModelConfig, scheduling: ConfigEnsembling): readonly Finding[] => {
  const tensors = tensorsOf(scheduling);
  const ready = reachable(
    input.map((each) => each.name),
    tensors,
  );
  const findings: Finding[] = [];
  input.forEach((each, index) => {
    if (!tensors.has(each.name)) findings.push(fault(`input[${index}]`, `ensemble input '${each.name}' for ensemble ${name}' is not used`));
  });
  output.forEach((each, index) => {
    const tensor = tensors.get(each.name);
    if (tensor === undefined) {
      findings.push(fault(`output[${index}]`, `ensemble output '${each.name}' for ensemble ${name}' is not used`));
    } else if (!ready.has(each.name)) {
      const missing = tensor.from?.find((from) => !ready.has(from));
      const why = missing === undefined ? '' : `: at least one of its depending tensors, '${missing}', is not connected`;
      findings.push(fault(`output[${index}]`, `output '${each.name}' for ensemble '${name}' is not written${why}`));
    }
  });
  const used = new Set([...output.map((each) => each.name), ...scheduling.step.flatMap(({ input_map }) => Object.values(input_map))]);
  for (const [tensor, { field }] of tensors) {
    if (output.some((each) => each.name === tensor) || (ready.has(tensor) && used.has(tensor))) continue;
    findings.push(fault(field, `ensemble tensor '${tensor}' is unused in ensemble '${name}'`));
  }
  return findings;
};

/**
 * Faults of an ensemble that show in its config alone. `written` is the config before completion; `repeatedKeys` are those of maps in its text. Where the tensors
 * come from is looked at once each step by itself is right.
 */
export const checkEnsemble = (config: ModelConfig, written: ModelConfig, repeatedKeys: readonly string[]): readonly Finding[] => {
  const { name, ensemble_scheduling: scheduling } = config;
  if (scheduling === undefined) return [];
  const others = checkOtherFields(name, written);
  if (scheduling.step.length === 0) return [...others, fault('ensemble_scheduling', `must specify 'step' for ensemble '${name}'`)];
  const ofSteps = [
    ...scheduling.step.flatMap((step, index) => checkStep(name, step, index)),
    ...checkRepeatedKeys(config, scheduling, repeatedKeys),
    ...checkWriters(config, scheduling),
  ];
  return [...others, ...ofSteps, ...(ofSteps.length > 0 ? [] : checkFlow(config, scheduling))];
};
