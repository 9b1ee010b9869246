import type { Subscription } from 'rxjs';
import { runGraph } from '../../src/operators/ensembles/run-graph.ts';
import { WaitOrder } from '../../src/operators/ensembles/wait-order.ts';
import type { RunningModel } from '../../src/operators/run-model.ts';
import { runModel } from '../../src/operators/run-model.ts';
import { compileGraph } from '../../src/repository/ensembles/compile-graph.ts';
import { decoupledWithin } from '../../src/repository/ensembles/decoupled-within.ts';
import { findBranches } from '../../src/repository/ensembles/find-branches.ts';
import { InferError } from '../../src/streams/inference/error.ts';
import type { EnsembleStep, ModelSpec } from '../../src/streams/inference/model-spec.ts';
import type { Tensor } from '../../src/streams/tensors/tensor.ts';
import { living, makeBatching, makeInput, makeLog, makePlacement, makeRequest, makeSpec } from '../../test/support/model.ts';
import { VirtualTime } from '../../test/support/virtual-time.ts';
import { EnsembleEvaluation } from './ensemble-evaluation.ts';
import { ensembleInstance, isFitting, toTensor, toValue } from './ensemble-instance.ts';
import { branchOf, type EnsembleSetting, firstTensorOf, type Value } from './ensemble-setting.ts';

export interface AskedSetting {
  /** By input. */
  readonly inputs: readonly Value[];
  /** Tensors of the answer's branch, ascending. */
  readonly wanted: readonly number[];
  readonly atMs: number;
  /** Undefined for a caller who stays. */
  readonly cancelAfterMs: number | undefined;
}

interface Asked {
  readonly setting: AskedSetting;
  readonly answers: (readonly Value[])[];
  saidLast: boolean;
  end: 'complete' | InferError | 'cancelled' | undefined;
}

const named = (kind: string, count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${kind}${index}`);

/** Tensors that may be asked for: those of the branch of the last one, none of them an input. */
export const answerTensors = (setting: EnsembleSetting): readonly number[] => {
  const count = firstTensorOf(setting, setting.steps.length);
  const branch = branchOf(setting, count - 1);
  const made = Array.from({ length: count - setting.inputs }, (_, index) => setting.inputs + index);
  return made.filter((tensor) => branchOf(setting, tensor) === branch);
};

/** Two tensors of one answer come from different rows, unless the order in which these were made is told by nothing but time. */
const isNested = (setting: EnsembleSetting): boolean => {
  const branch = branchOf(setting, firstTensorOf(setting, setting.steps.length) - 1);
  return branch !== undefined && branchOf(setting, setting.steps[branch]?.inputs[0] ?? 0) !== undefined;
};

const text = (values: readonly Value[]): string => JSON.stringify(values.map((value) => value ?? null));

/** An ensemble and its models on virtual time, and the faults found so far. */
export class EnsembleWorld {
  readonly time = new VirtualTime();
  /** Collected here and asserted by the property: what is thrown inside of a stream may never be seen. */
  readonly faults: string[] = [];
  readonly #setting: EnsembleSetting;
  readonly #models = new Map<string, RunningModel>();
  readonly #asked: Asked[] = [];
  readonly #lives: Subscription[] = [];
  #ensemble: RunningModel | undefined;
  #running = 0;

  constructor(setting: EnsembleSetting) {
    this.#setting = setting;
    const specs = setting.steps.map((step, index) =>
      makeSpec({
        name: `m${index}`,
        maxBatchSize: step.batches ? 8 : 0,
        inputs: named('I', step.inputs.length).map((name) => makeInput({ name, optional: true })),
        outputs: named('O', step.outputs).map((name) => ({ name, datatype: 'UINT8', dims: [4], reshape: undefined, labels: [] })),
        decoupled: step.mostAnswers !== undefined,
        dynamicBatching: step.batches ? makeBatching() : undefined,
      }),
    );
    for (const [index, spec] of specs.entries()) this.#load(spec, index);
    this.#start(specs);
  }

  ask(setting: AskedSetting): void {
    const asked: Asked = { setting, answers: [], saidLast: false, end: undefined };
    this.#asked.push(asked);
    this.time.schedule(() => this.#subscribe(asked), setting.atMs);
  }

  /** Lets everything come to its end, and looks at it. */
  finish(): void {
    for (let ms = 0; ms < 500_000 && this.time.pending > 0; ms++) {
      this.time.advance(1);
      this.#checkLimits();
    }
    if (this.time.pending > 0) this.faults.push('it never ends');
    if (this.#running !== 0) this.faults.push(`${this.#running} batches run on`);
    for (const model of [...this.#models.values(), ...(this.#ensemble === undefined ? [] : [this.#ensemble])]) {
      for (const { name, in: entered, out, failed, queued, running } of model.graph().stages) {
        if (queued + running !== 0) this.faults.push(`${model.graph().model} ${name}: ${queued} queued and ${running} running at the end`);
        if (entered !== out + failed) this.faults.push(`${model.graph().model} ${name}: ${entered} in, ${out} out, ${failed} failed`);
      }
    }
    for (const [index, asked] of this.#asked.entries()) this.#judge(index, asked);
    let drained = 0;
    const count = this.#models.size + 1;
    for (const model of [this.#ensemble, ...this.#models.values()]) void model?.drain().then(() => drained++);
    this.#drained = () => drained === count;
  }

  #drained = (): boolean => false;

  /** Nobody is inside any model, and none is held. To be called once the tasks of `finish` have run. */
  close(): void {
    if (!this.#drained()) this.faults.push('a model is not drained');
    for (const life of this.#lives) life.unsubscribe();
  }

  #load(spec: ModelSpec, index: number): void {
    const step = this.#setting.steps[index];
    if (step === undefined) return;
    const onRunning = (by: number): void => {
      this.#running += by;
    };
    const open = () => living(ensembleInstance({ step, index, time: this.time, onRunning }));
    const life = runModel({
      spec,
      placements: Array.from({ length: step.instances }, () => ({ placement: makePlacement(), open })),
      layers: [],
      sink: () => {},
      scheduler: this.time,
      log: makeLog(),
    }).subscribe((model) => this.#models.set(spec.name, model));
    this.#lives.push(life);
  }

  #start(models: readonly ModelSpec[]): void {
    const { inputs, steps, batches, maxInflightRequests } = this.#setting;
    const ensemble = makeSpec({
      name: 'e',
      maxBatchSize: batches ? 8 : 0,
      inputs: named('T', inputs).map((name) => makeInput({ name, optional: true })),
      outputs: answerTensors(this.#setting).map((tensor) => ({
        name: `T${tensor}`,
        datatype: 'UINT8',
        dims: [4],
        reshape: undefined,
        labels: [],
      })),
      ensemble: { steps: [], maxInflightRequests },
    });
    const ensembleSteps = steps.map(
      (step, index): EnsembleStep => ({
        modelName: `m${index}`,
        modelVersion: '',
        inputs: new Map(step.inputs.map((tensor, input) => [`I${input}`, `T${tensor}`])),
        outputs: new Map(named('O', step.outputs).map((name, output) => [name, `T${firstTensorOf(this.#setting, index) + output}`])),
      }),
    );
    const branches = findBranches({
      inputs: ensemble.inputs.map(({ name }) => name),
      outputs: ensemble.outputs.map(({ name }) => name),
      steps: ensembleSteps,
      isDecoupled: models.map(({ decoupled }) => decoupled),
    });
    if (branches.mixedSteps.length > 0 || branches.hasMixedOutputs) this.faults.push('the setting mixes branches');
    const graph = compileGraph({
      ensemble,
      steps: ensembleSteps,
      models,
      branches,
      decoupledWithin: models.map((each) => decoupledWithin(each, () => undefined)),
    });
    const life = runGraph({
      graph,
      models: { find: (name) => this.#models.get(name) ?? missing(name) },
      waitOrder: new WaitOrder(),
      maxQueueSize: 1000,
      layers: [],
      sink: () => {},
      log: makeLog(),
      epochMs: () => 0,
    }).subscribe((model) => {
      this.#ensemble = model;
    });
    // It ends before its models do.
    this.#lives.unshift(life);
  }

  #subscribe(asked: Asked): void {
    const { inputs, wanted, cancelAfterMs } = asked.setting;
    const tensors = inputs.flatMap((value, index): (readonly [string, Tensor])[] =>
      value === undefined ? [] : [[`T${index}`, toTensor(value, this.#setting.batches)]],
    );
    const all = answerTensors(this.#setting).length === wanted.length;
    const request = makeRequest({
      modelName: 'e',
      inputs: new Map(tensors),
      outputs: all ? [] : wanted.map((tensor) => ({ name: `T${tensor}`, classification: 0 })),
    });
    const caller = this.#ensemble?.infer(request).subscribe({
      next: ({ outputs, isLast }) => {
        if (asked.saidLast || asked.end !== undefined) this.faults.push('an answer after the end');
        asked.saidLast = isLast;
        for (const tensor of outputs.values()) {
          if (!isFitting(tensor, this.#setting.batches)) this.faults.push(`an answer of shape [${tensor.shape}]`);
        }
        asked.answers.push(wanted.map((tensor) => toValue(outputs.get(`T${tensor}`))));
      },
      error: (error: InferError) => {
        asked.end = error;
      },
      complete: () => {
        asked.end = 'complete';
      },
    });
    if (cancelAfterMs === undefined) return;
    this.time.schedule(() => {
      asked.end ??= 'cancelled';
      caller?.unsubscribe();
    }, cancelAfterMs);
  }

  /** Requests of a step that run, of all together; and rows that a step which heeds demand is ahead, of each request, whatever stands before it. */
  #checkLimits(): void {
    const { maxInflightRequests: limit, steps } = this.#setting;
    if (limit === 0) return;
    const allHeed = steps.every(({ mostAnswers, heedsDemand }) => mostAnswers === undefined || heedsDemand);
    const open = this.#asked.filter(({ setting, end }) => end === undefined && setting.atMs <= this.time.now()).length;
    for (const [index, { name, queued, running }] of (this.#ensemble?.graph().stages ?? []).entries()) {
      if (running > limit) this.faults.push(`${running} of step ${name} run`);
      const isBehind = branchOf(this.#setting, steps[index]?.inputs[0] ?? 0) !== undefined;
      if (allHeed && isBehind && queued + running > 2 * limit * open) this.faults.push(`${queued + running} rows are in step ${name}`);
    }
  }

  #judge(index: number, { setting, answers, end }: Asked): void {
    const { answers: rows, failing } = new EnsembleEvaluation(this.#setting, setting.inputs).of(setting.wanted);
    const fault = (what: string): void => void this.faults.push(`request ${index}: ${what}`);
    const expected = rows.flatMap((row) => (row === undefined ? [] : [text(row)]));
    const got = answers.map(text);
    if (end === undefined) fault('never ends');
    if (end instanceof InferError) {
      const step = /^in ensemble 'e', step (\d+) fails \(step \1, model 'm\1'\)$/.exec(end.message)?.[1];
      if (step === undefined || !failing.has(Number(step))) fault(`fails with ${end.message}`);
    } else if (end === 'complete' && failing.size > 0) fault('completes though a step fails');
    if (isNested(this.#setting)) {
      const left = [...expected];
      for (const each of got) {
        const at = left.indexOf(each);
        if (at < 0) fault(`answers ${each}`);
        else left.splice(at, 1);
      }
    } else if (got.some((each, row) => each !== (rows[row] === undefined ? '' : expected[row]))) {
      fault(`answers ${got.join(' ')} in the place of ${expected.join(' ')}`);
    }
    if (end === 'complete' && got.length !== expected.length) fault(`answers ${got.length} times in the place of ${expected.length}`);
  }
}

const missing = (name: string): never => {
  throw new InferError('NOT_FOUND', name);
};
