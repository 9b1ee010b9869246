/** A tensor of an ensemble by its number: first the inputs, then each step's outputs in turn. */
export interface StepSetting {
  /** Earlier tensors, all of one branch; at least one. */
  readonly inputs: readonly number[];
  readonly outputs: number;
  /** Most answers to one request; undefined for a model that answers once. */
  readonly mostAnswers: number | undefined;
  readonly batches: boolean;
  /** One answer in so many fails, or lacks an output; 0 for none. */
  readonly failsIn: number;
  readonly absentIn: number;
  readonly instances: number;
  /** An answer takes up to so many milliseconds. */
  readonly mostDelayMs: number;
  /** Whether it waits while nobody wants its answers. */
  readonly heedsDemand: boolean;
}

export interface EnsembleSetting {
  readonly inputs: number;
  readonly steps: readonly StepSetting[];
  readonly batches: boolean;
  readonly maxInflightRequests: number;
}

/** Rows of a tensor, of four bytes each; undefined for one that is absent. */
export type Value = readonly (readonly number[])[] | undefined;

export interface Answer {
  /** By output. */
  readonly outputs: readonly Value[];
}

export interface Answers {
  readonly answers: readonly Answer[];
  /** It fails after these. */
  readonly fails: boolean;
  readonly delayMs: number;
}

const mix = (hash: number, next: number): number => Math.imul((hash ^ next) + 0x9e3779b9, 0x85ebca6b) >>> 0;

const hashOf = (values: readonly Value[], seed: number): number =>
  values.reduce((hash, value) => (value ?? [[300]]).flat().reduce(mix, mix(hash, 301)), seed);

/** What a step answers to inputs: the same whenever it is asked. Each row of an output comes of the same row of the inputs. */
export const answersOf = (step: StepSetting, index: number, inputs: readonly Value[]): Answers => {
  const rows = Math.max(1, ...inputs.map((value) => value?.length ?? 0));
  const whole = hashOf(inputs, index);
  const hits = (in_: number, salt: number): boolean => in_ > 0 && mix(whole, salt) % in_ === 0;
  const count = step.mostAnswers === undefined ? 1 : mix(whole, 7) % (step.mostAnswers + 1);
  const fails = hits(step.failsIn, 11);
  const answer = (number: number): Answer => ({
    outputs: Array.from({ length: step.outputs }, (_, output) => {
      if (hits(step.absentIn, 100 * number + output)) return undefined;
      return Array.from({ length: rows }, (_row, row) => {
        const hash = hashOf(
          inputs.map((value) => (value === undefined ? undefined : [value[row] ?? []])),
          mix(mix(index, output), number),
        );
        return [hash & 255, (hash >>> 8) & 255, (hash >>> 16) & 255, hash >>> 24];
      });
    }),
  });
  return {
    answers: Array.from({ length: fails ? Math.floor(count / 2) : count }, (_, number) => answer(number)),
    fails,
    delayMs: mix(whole, 13) % (step.mostDelayMs + 1),
  };
};

/** Where the tensors of a step begin. */
export const firstTensorOf = ({ inputs, steps }: EnsembleSetting, step: number): number =>
  steps.slice(0, step).reduce((sum, { outputs }) => sum + outputs, inputs);

/** Which step makes a tensor; undefined for an input of the ensemble. */
export const makerOf = (setting: EnsembleSetting, tensor: number): number | undefined => {
  const maker = setting.steps.findIndex((_, step) => tensor < firstTensorOf(setting, step + 1));
  return tensor < setting.inputs ? undefined : maker;
};

/** The step that began the rows to which a tensor belongs; undefined for those of the request itself. */
export const branchOf = (setting: EnsembleSetting, tensor: number): number | undefined => {
  const maker = makerOf(setting, tensor);
  if (maker === undefined) return undefined;
  const { mostAnswers, inputs } = setting.steps[maker] ?? { mostAnswers: undefined, inputs: [] };
  return mostAnswers !== undefined ? maker : branchOf(setting, inputs[0] ?? 0);
};
