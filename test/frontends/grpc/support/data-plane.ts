import { Observable } from 'rxjs';
import type { DataPlane, ServedModel } from '../../../../src/streams/inference/data-plane.ts';
import { InferError } from '../../../../src/streams/inference/error.ts';
import type { Infer } from '../../../../src/streams/inference/infer.ts';
import type { Log } from '../../../../src/streams/inference/log.ts';
import type { ModelSpec, OutputSpec } from '../../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../../src/streams/inference/response.ts';
import type { ModelStatistics } from '../../../../src/streams/inference/statistics.ts';
import type { Shape } from '../../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../../src/streams/tensors/tensor.ts';
import { makeInput, makeSpec } from '../../../support/model.ts';

/** An answer to `request` with its own tensors: what came as IN… is answered as OUT…. */
export const echo = (request: InferRequest, fields: Partial<InferResponse> = {}): InferResponse => ({
  modelName: request.modelName,
  modelVersion: '1',
  id: request.id,
  parameters: new Map(),
  outputs: new Map([...request.inputs].map(([name, tensor]) => [name.replace('IN', 'OUT'), tensor])),
  isLast: true,
  ...fields,
});

/** One answer at once. */
export const echoing: Infer = (request) =>
  new Observable((subscriber) => {
    subscriber.next(echo(request));
    subscriber.complete();
  });

/** Emits `count` answers of one tensor N at once; none of them says that it is the last. */
export const counting =
  (count: number): Infer =>
  (request) =>
    new Observable((subscriber) => {
      for (let n = 0; n < count; n++) {
        subscriber.next(echo(request, { outputs: new Map([['N', new Tensor('UINT8', [1], Uint8Array.of(n))]]), isLast: false }));
      }
      subscriber.complete();
    });

/** Answers with as many zero bytes as the request's tensor IN says; its memory is another model's as soon as it has answered. */
export const filling: Infer = (request) =>
  new Observable((subscriber) => {
    const size = Buffer.from(request.inputs.get('IN')?.bytes ?? []).readUInt32LE(0);
    const memory = new Uint8Array(size).fill(7);
    subscriber.next(echo(request, { outputs: new Map([['OUT', new Tensor('UINT8', [size], memory)]]) }));
    memory.fill(0);
    subscriber.complete();
  });

/** A request that waits for the test to answer it. */
export interface HeldRequest {
  readonly request: InferRequest;
  next(fields?: Partial<InferResponse>): void;
  error(error: unknown): void;
  /** One answer, and the end. */
  finish(fields?: Partial<InferResponse>): void;
  complete(): void;
}

/** A model that answers when the test says so. */
export class HeldModel {
  readonly held: HeldRequest[] = [];
  cancelled = 0;
  #onChange: (() => void)[] = [];

  readonly infer: Infer = (request) =>
    new Observable((subscriber) => {
      let isCancelled = true;
      const end = (finish: () => void): void => {
        isCancelled = false;
        finish();
      };
      const held: HeldRequest = {
        request,
        next: (fields) => subscriber.next(echo(request, { isLast: false, ...fields })),
        error: (error) => end(() => subscriber.error(error)),
        complete: () => end(() => subscriber.complete()),
        finish: (fields) => {
          subscriber.next(echo(request, fields));
          end(() => subscriber.complete());
        },
      };
      this.held.push(held);
      this.#tell();
      return () => {
        this.held.splice(this.held.indexOf(held), 1);
        if (isCancelled) this.cancelled++;
        this.#tell();
      };
    });

  /** Resolves when exactly so many requests wait. */
  async holds(count: number): Promise<void> {
    while (this.held.length !== count) await new Promise<void>((resolve) => this.#onChange.push(resolve));
  }

  /** The longest-waiting, or the one after so many. */
  at(index: number): HeldRequest {
    const held = this.held[index];
    if (held === undefined) throw new Error(`no request ${index} waits`);
    return held;
  }

  #tell(): void {
    for (const resolve of this.#onChange.splice(0)) resolve();
  }
}

export const variableInput = makeInput({ name: 'IN', dims: [-1] });

export const makeOutput = (dims: Shape): OutputSpec => ({ name: 'OUT', datatype: 'UINT8', dims, reshape: undefined, labels: [] });

/** A model of one variable input IN and output OUT, without batch dimension. */
export const variableSpec = (name: string, fields: Partial<ModelSpec> = {}): ModelSpec =>
  makeSpec({
    name,
    maxBatchSize: 0,
    inputs: [variableInput],
    outputs: [makeOutput([-1])],
    ...fields,
  });

const unknown = (name: string): InferError => new InferError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);

/** Models in memory, all of version 1. */
export class TestDataPlane implements DataPlane {
  readonly #models = new Map<string, ServedModel>();
  exiting = false;
  ready = true;
  /** Requests that models are working on. */
  running = 0;

  add(spec: ModelSpec, infer: Infer): this {
    this.#models.set(spec.name, { spec, infer: (request) => this.#counted(infer, request) });
    return this;
  }

  isLive(): boolean {
    return true;
  }
  isReady(): boolean {
    return this.ready;
  }
  isExiting(): boolean {
    return this.exiting;
  }
  isModelReady(name: string, version: string): boolean {
    return this.#models.has(name) && (version === '' || version === '1');
  }

  serverMetadata() {
    return { name: 'triton', version: '0.0.1', extensions: ['statistics', 'binary_tensor_data'] };
  }

  model(name: string, version: string): ServedModel {
    const served = this.#models.get(name);
    if (served === undefined) throw unknown(name);
    if (version !== '' && version !== '1') {
      throw new InferError('NOT_FOUND', `Request for unknown model: '${name}' version ${version} is not found`);
    }
    return served;
  }

  modelMetadata(name: string, version: string) {
    const { spec } = this.model(name, version);
    return {
      name,
      versions: ['1'],
      platform: spec.platform,
      inputs: spec.inputs.map(({ name, datatype, dims }) => ({ name, datatype, shape: dims })),
      outputs: spec.outputs.map(({ name, datatype, dims }) => ({ name, datatype, shape: dims })),
    };
  }

  statisticsOf: () => Promise<readonly ModelStatistics[]> = () => Promise.resolve([]);

  statistics(): Promise<readonly ModelStatistics[]> {
    return this.statisticsOf();
  }

  index(readyOnly: boolean) {
    const ready = [...this.#models.keys()].map((name) => ({ name, version: '1', state: 'READY' as const, reason: '' }));
    return Promise.resolve(readyOnly ? ready : [...ready, { name: 'broken' }]);
  }

  graphs() {
    return [];
  }

  graph(name: string): never {
    throw unknown(name);
  }

  readonly infer: Infer = (request) => this.model(request.modelName, request.modelVersion).infer(request);

  #counted(infer: Infer, request: InferRequest): Observable<InferResponse> {
    return new Observable((subscriber) => {
      this.running++;
      subscriber.add(() => {
        this.running--;
      });
      subscriber.add(infer(request).subscribe(subscriber));
    });
  }
}

/** Keeps what is logged as an error. */
export class ErrorLog implements Log {
  readonly lines: string[] = [];

  error(message: string): void {
    this.lines.push(message);
  }
  warning(): void {}
  info(): void {}
  verbose(): void {}
}
