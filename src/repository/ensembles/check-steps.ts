import type { EnsembleStep, ModelSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import { formatShape, type Shape } from '../../streams/tensors/shape.ts';
import { configTypeOf } from '../config/datatypes.ts';
import type { Finding } from '../config/findings.ts';
import { fault, warning } from '../config/findings.ts';
import type { Branches } from './find-branches.ts';

/** An ensemble as it is written, and the models of its steps as they are loaded, by step. */
export interface StepsConfig {
  readonly ensemble: ModelSpec;
  readonly steps: readonly EnsembleStep[];
  readonly models: readonly ModelSpec[];
  readonly branches: Branches;
}

/** What one model, or the ensemble itself, says of a tensor. */
interface View {
  readonly model: string;
  readonly type: string;
  readonly dims: Shape;
  /** With the batch dimension, as −1, where the model batches. */
  readonly full: Shape;
}

const viewOf = ({ name, maxBatchSize }: ModelSpec, { datatype, dims }: TensorSpec): View => ({
  model: name,
  type: configTypeOf(datatype),
  dims,
  full: maxBatchSize > 0 ? [-1, ...dims] : dims,
});

const agree = (a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((size, axis) => size === -1 || b[axis] === -1 || size === b[axis]);

/** Why two views of a tensor cannot both be right. Shapes are those before `reshape`, compared without and with the batch dimension. */
const inconsistency = (a: View, b: View): string | undefined => {
  const inferred = (what: string, of: (view: View) => string): string =>
    `inconsistent ${what}: ${of(a)} is inferred from model ${a.model} while ${of(b)} is inferred from model ${b.model}`;
  if (a.type !== b.type) return inferred('data type', ({ type }) => type);
  return agree(a.dims, b.dims) || agree(a.full, b.full) ? undefined : inferred('shape', ({ full }) => formatShape(full));
};

class StepsCheck {
  readonly findings: Finding[] = [];
  readonly #config: StepsConfig;
  /** The first view of each tensor counts. */
  readonly #views = new Map<string, View>();

  constructor(config: StepsConfig) {
    this.#config = config;
    const { ensemble } = config;
    for (const tensor of [...ensemble.inputs, ...ensemble.outputs]) {
      if (!this.#views.has(tensor.name)) this.#views.set(tensor.name, viewOf(ensemble, tensor));
    }
  }

  get #name(): string {
    return this.#config.ensemble.name;
  }

  step(index: number, step: EnsembleStep, model: ModelSpec): void {
    this.#batchSize(index, model);
    const field = `ensemble_scheduling.step[${index}]`;
    for (const [name, tensor] of step.inputs) {
      const input = model.inputs.find((each) => each.name === name);
      const here = `${field}.input_map["${name}"]`;
      if (input !== undefined) this.#tensor(here, tensor, viewOf(model, input));
      else this.#add(here, `ensemble tensor ${tensor} is mapping to non-existing input ${name} in model ${model.name}`, model.inputs);
      if (input !== undefined && !input.optional) this.#warnOfOptional(here, tensor, name, model.name);
    }
    for (const { name, optional } of model.inputs) {
      if (!optional && !step.inputs.has(name)) {
        this.#add(`${field}.input_map`, `input ${name} in model ${model.name} is not mapped to any ensemble tensors`);
      }
    }
    const written = new Set<string>();
    for (const [name, tensor] of step.outputs) {
      const output = model.outputs.find((each) => each.name === name);
      const here = `${field}.output_map["${name}"]`;
      if (output !== undefined) this.#tensor(here, tensor, viewOf(model, output));
      else this.#add(here, `ensemble tensor ${tensor} is mapped from non-existing output ${name} in model ${model.name}`, model.outputs);
      if (written.has(tensor)) {
        this.#add(here, `multiple outputs in model ${model.name} are mapped to the same ensemble tensor ${tensor}`);
      }
      written.add(tensor);
    }
  }

  branches(): void {
    const { branches, models } = this.#config;
    const who = (model: string): string => `step of model '${model}' receives inputs originated from different decoupled models`;
    for (const index of branches.mixedSteps) {
      this.#add(`ensemble_scheduling.step[${index}].input_map`, who(models[index]?.name ?? ''));
    }
    if (branches.hasMixedOutputs) this.#add('output', who(this.#name));
  }

  #batchSize(index: number, { name, maxBatchSize }: ModelSpec): void {
    const wanted = this.#config.ensemble.maxBatchSize;
    const text = `ensemble ${this.#name} allows maximum batch size ${wanted}, but it contains model ${name}`;
    if (maxBatchSize > 0 && maxBatchSize < wanted) {
      const details = { wanted: `at most ${maxBatchSize}`, got: String(wanted) };
      this.findings.push(fault('max_batch_size', `${text} which only allows maximum batch size to be ${maxBatchSize}`, details));
    } else if (maxBatchSize === 0 && wanted > 0) {
      this.findings.push(warning(`ensemble_scheduling.step[${index}].model_name`, `${text} which does not batch: it gets whole batches`));
    }
  }

  #tensor(field: string, tensor: string, view: View): void {
    const before = this.#views.get(tensor);
    if (before === undefined) {
      this.#views.set(tensor, view);
      return;
    }
    const text = inconsistency(before, view);
    if (text !== undefined) this.findings.push(fault(field, `in ensemble ${this.#name}, ensemble tensor ${tensor}: ${text}`));
  }

  #warnOfOptional(field: string, tensor: string, name: string, model: string): void {
    const { inputs } = this.#config.ensemble;
    if (!inputs.some((input) => input.name === tensor && input.optional)) return;
    const text = `optional input ${tensor} of ensemble ${this.#name} feeds input ${name} of model ${model}, which is required: requests without it fail`;
    this.findings.push(warning(field, text));
  }

  #add(field: string, text: string, known: readonly TensorSpec[] = []): void {
    const details = known.length === 0 ? {} : { wanted: `one of ${known.map(({ name }) => name).join(', ')}` };
    this.findings.push(fault(field, `in ensemble ${this.#name}, ${text}`, details));
  }
}

/** Where an ensemble and the models of its steps disagree. */
export const checkSteps = (config: StepsConfig): readonly Finding[] => {
  const check = new StepsCheck(config);
  config.steps.forEach((step, index) => {
    const model = config.models[index];
    if (model !== undefined) check.step(index, step, model);
  });
  check.branches();
  return check.findings;
};
