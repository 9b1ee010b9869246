import { Observable, type Subscriber, type Subscription } from 'rxjs';
import { onTestFinished } from 'vitest';
import type { StepModel } from '../../src/operators/ensembles/ensemble.ts';
import { runGraph } from '../../src/operators/ensembles/run-graph.ts';
import { type StepWaits, WaitOrder } from '../../src/operators/ensembles/wait-order.ts';
import type { RunningModel } from '../../src/operators/run-model.ts';
import { compileGraph } from '../../src/repository/ensembles/compile-graph.ts';
import { decoupledWithin } from '../../src/repository/ensembles/decoupled-within.ts';
import { findBranches } from '../../src/repository/ensembles/find-branches.ts';
import { InferError } from '../../src/streams/inference/error.ts';
import type { InferenceEvent } from '../../src/streams/inference/events.ts';
import type { EnsembleStep, ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { noParameters, type Parameters } from '../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { makeInput, makeLog, makeRequest, makeSpec } from './model.ts';

/** Of a step that answers once, before others that do. */
export const noWaits: StepWaits = { models: new Set(), behind: new Set() };

/** One request that an ensemble has made of a model, answered when a test says so. */
export class Asked {
  readonly request: InferRequest;
  readonly #answers: Subscriber<InferResponse>;
  isCancelled = false;
  isEnded = false;

  constructor(request: InferRequest, answers: Subscriber<InferResponse>) {
    this.request = request;
    this.#answers = answers;
    answers.add(() => {
      this.isCancelled = !this.isEnded;
    });
  }

  /** Outputs by name, each of one byte; the memory is another's as soon as the call is over, and a `Buffer`, whose `slice` copies nothing. */
  answer(outputs: Readonly<Record<string, number>>, { isLast = true, parameters = noParameters } = {}): void {
    this.isEnded ||= isLast;
    const tensors = Object.entries(outputs).map(([name, byte]) => [name, new Tensor('UINT8', [1], Buffer.of(byte))] as const);
    this.#answers.next({
      modelName: this.request.modelName,
      modelVersion: '1',
      id: this.request.id,
      parameters,
      outputs: new Map(tensors),
      isLast,
    });
    for (const [, { buffer }] of tensors) buffer.fill(0);
    if (isLast) this.#answers.complete();
  }

  complete(): void {
    this.isEnded = true;
    this.#answers.complete();
  }

  fail(error: InferError): void {
    this.isEnded = true;
    this.#answers.error(error);
  }

  /** Its inputs, each of one byte. */
  get inputs(): Readonly<Record<string, number | undefined>> {
    return Object.fromEntries([...this.request.inputs].map(([name, { buffer, start }]) => [name, buffer[start]]));
  }
}

export class HandModel implements StepModel {
  readonly asked: Asked[] = [];
  held = 0;
  ready = true;

  readonly infer = (request: InferRequest): Observable<InferResponse> =>
    new Observable((answers) => {
      this.asked.push(new Asked(request, answers));
    });

  isReady(): boolean {
    return this.ready;
  }

  hold(): void {
    this.held++;
  }

  release(): void {
    this.held--;
  }

  get last(): Asked {
    const last = this.asked.at(-1);
    if (last === undefined) throw new Error('nothing was asked');
    return last;
  }
}

export interface HandStep {
  readonly model: string;
  /** Model's name to the ensemble's. */
  readonly in: Readonly<Record<string, string>>;
  readonly out: Readonly<Record<string, string>>;
  readonly isDecoupled?: boolean;
}

/** An ensemble of tensors of one byte, without batch dimension, whose models are in a test's hand. */
export class HandEnsemble {
  readonly models = new Map<string, HandModel>();
  readonly events: InferenceEvent[] = [];
  readonly log = makeLog();
  readonly running: RunningModel;
  readonly life: Subscription;

  constructor(steps: readonly HandStep[], outputs: readonly string[], { limit = 0, maxQueueSize = 100 } = {}) {
    const made = new Set(steps.flatMap(({ out }) => Object.values(out)));
    const inputs = [...new Set(steps.flatMap((step) => Object.values(step.in)))].filter((tensor) => !made.has(tensor));
    const dims = { datatype: 'UINT8', dims: [1], reshape: undefined, labels: [] } as const;
    const spec = (name: string, ins: readonly string[], outs: readonly string[], rest: Partial<ModelSpec> = {}): ModelSpec =>
      makeSpec({
        name,
        maxBatchSize: 0,
        inputs: ins.map((each) => makeInput({ name: each, dims: [1] })),
        outputs: outs.map((each) => ({ ...dims, name: each })),
        ...rest,
      });
    const ensemble = spec('e', inputs, outputs, { ensemble: { steps: [], maxInflightRequests: limit } });
    const models = steps.map((step) => {
      if (!this.models.has(step.model)) this.models.set(step.model, new HandModel());
      return spec(step.model, Object.keys(step.in), Object.keys(step.out), { decoupled: step.isDecoupled ?? false });
    });
    const ensembleSteps = steps.map(
      (step): EnsembleStep => ({
        modelName: step.model,
        modelVersion: '',
        inputs: new Map(Object.entries(step.in)),
        outputs: new Map(Object.entries(step.out)),
      }),
    );
    const branches = findBranches({ inputs, outputs, steps: ensembleSteps, isDecoupled: models.map(({ decoupled }) => decoupled) });
    let running: RunningModel | undefined;
    this.life = runGraph({
      graph: compileGraph({
        ensemble,
        steps: ensembleSteps,
        models,
        branches,
        decoupledWithin: models.map((each) => decoupledWithin(each, () => undefined)),
      }),
      models: {
        find: (name) => {
          const model = this.models.get(name);
          if (model?.ready !== true) throw new InferError('UNAVAILABLE', `${name} is not ready`);
          return model;
        },
      },
      waitOrder: new WaitOrder(),
      maxQueueSize,
      layers: [],
      sink: (event) => this.events.push(event),
      log: this.log,
      epochMs: () => 0,
    }).subscribe((each) => {
      running = each;
    });
    if (running === undefined) throw new Error('it did not start');
    this.running = running;
    onTestFinished(() => this.life.unsubscribe());
  }

  model(name: string): HandModel {
    const model = this.models.get(name);
    if (model === undefined) throw new Error(`no model ${name}`);
    return model;
  }

  ask(inputs: Readonly<Record<string, number>>, fields: Partial<InferRequest> = {}): Hearing {
    const tensors = Object.entries(inputs).map(([name, byte]) => [name, new Tensor('UINT8', [1], Uint8Array.of(byte))] as const);
    return new Hearing(this.running, makeRequest({ modelName: 'e', inputs: new Map(tensors), ...fields }));
  }
}

/** What a caller has heard. */
export class Hearing {
  readonly answers: Readonly<Record<string, number | undefined>>[] = [];
  readonly parameters: Parameters[] = [];
  readonly last: boolean[] = [];
  end: 'open' | 'complete' | InferError = 'open';
  readonly caller: Subscription;

  constructor(model: RunningModel, request: InferRequest) {
    this.caller = model.infer(request).subscribe({
      next: ({ outputs, parameters, isLast }) => {
        this.answers.push(Object.fromEntries([...outputs].map(([name, { buffer, start }]) => [name, buffer[start]])));
        this.parameters.push(parameters);
        this.last.push(isLast);
      },
      error: (error: InferError) => {
        this.end = error;
      },
      complete: () => {
        this.end = 'complete';
      },
    });
  }
}
