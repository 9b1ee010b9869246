import { concat, NEVER, Observable, of } from 'rxjs';
import type { Batch, Instance, Part, Placement } from '../../src/streams/inference/backend.ts';
import { bareRequest } from '../../src/streams/inference/bare-request.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import type { Log } from '../../src/streams/inference/log.ts';
import type { DynamicBatching, InputSpec, ModelSpec, QueuePolicy } from '../../src/streams/inference/model-spec.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { Shape } from '../../src/streams/tensors/shape.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';

export const makeInput = (fields: Partial<InputSpec> = {}): InputSpec => ({
  name: 'IN',
  datatype: 'UINT8',
  dims: [4],
  reshape: undefined,
  optional: false,
  allowRagged: false,
  ...fields,
});

export const makeQueuePolicy = (fields: Partial<QueuePolicy> = {}): QueuePolicy => ({
  timeoutAction: 'REJECT',
  defaultTimeoutMs: 0,
  allowTimeoutOverride: false,
  maxQueueSize: 1000,
  ...fields,
});

export const makeBatching = (fields: Partial<DynamicBatching> = {}): DynamicBatching => ({
  preferredBatchSizes: [8],
  maxQueueDelayMs: 0,
  preserveOrdering: false,
  priorityLevels: 0n,
  defaultPriorityLevel: 0n,
  defaultQueuePolicy: makeQueuePolicy(),
  queuePolicies: new Map(),
  isStrict: false,
  ...fields,
});

export const makePlacement = (fields: Partial<Placement> = {}): Placement => ({
  name: 'm_0',
  kind: 'CPU',
  device: 0,
  isPassive: false,
  resources: [],
  priority: 1,
  ...fields,
});

/** A batching model of one UINT8 input IN and one output OUT. */
export const makeSpec = (fields: Partial<ModelSpec> = {}): ModelSpec => ({
  name: 'm',
  version: '1',
  platform: '',
  backend: 'test',
  maxBatchSize: 8,
  inputs: [makeInput()],
  outputs: [{ name: 'OUT', datatype: 'UINT8', dims: [4], reshape: undefined, labels: [] }],
  dynamicBatching: makeBatching(),
  sequenceBatching: undefined,
  ensemble: undefined,
  batchOptions: { groupByParameter: undefined, unequalShapes: false, padding: undefined },
  batchInputs: [],
  batchOutputs: [],
  maxQueueSize: 1000,
  warmups: [],
  usesCache: false,
  instanceGroups: [],
  decoupled: false,
  parameters: new Map(),
  graphLevel: 0,
  config: {},
  ...fields,
});

/** A request with one input IN; its bytes are all `fill`. */
export const makeRequest = (fields: Partial<InferRequest> = {}, shape: Shape = [1, 4], fill = 0): InferRequest => ({
  ...bareRequest(
    'm',
    '',
    new Map([['IN', new Tensor('UINT8', shape, new Uint8Array(shape.reduce((count, size) => count * size, 1)).fill(fill))]]),
  ),
  ...fields,
});

export const makePart = (of: number, fields: Partial<Part> = {}): Part => ({
  of,
  outputs: new Map(),
  parameters: noParameters,
  isLast: true,
  error: undefined,
  ...fields,
});

/** Each request's input IN as its output OUT. */
export const echo = (batch: Batch): Part[] =>
  batch.requests.map(({ inputs }, of) => {
    const input = inputs.get('IN');
    return makePart(of, { outputs: input === undefined ? new Map() : new Map([['OUT', input]]) });
  });

interface Run {
  readonly batch: Batch;
  answer(part: Part): void;
  /** Echoes every request and completes. */
  finish(): void;
  complete(): void;
  fail(error: unknown): void;
  readonly isCancelled: boolean;
}

/** An instance whose batches end when a test says so. */
export class HandInstance implements Instance {
  readonly capacity: number;
  /** Every batch so far. */
  readonly runs: Run[] = [];
  running = 0;

  constructor(capacity = 1) {
    this.capacity = capacity;
  }

  run(batch: Batch): Observable<Part> {
    return new Observable((parts) => {
      let isEnded = false;
      let isCancelled = false;
      const ending = <Args extends unknown[]>(end: (...args: Args) => void) => {
        return (...args: Args): void => {
          isEnded = true;
          end(...args);
        };
      };
      this.running++;
      this.runs.push({
        batch,
        answer: (part) => parts.next(part),
        finish: ending(() => {
          for (const part of echo(batch)) parts.next(part);
          parts.complete();
        }),
        complete: ending(() => parts.complete()),
        fail: ending((error) => parts.error(error)),
        get isCancelled() {
          return isCancelled;
        },
      });
      parts.add(() => {
        this.running--;
        isCancelled = !isEnded;
      });
    });
  }

  /** The batch that began last. */
  get last(): Run {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error('nothing ran yet');
    return run;
  }
}

/** A life that never ends by itself. */
export const living = <T>(resource: T): Observable<T> => concat(of(resource), NEVER);

export const instantInstance: Instance = { capacity: 1, run: (batch) => of(...echo(batch)) };

/** Keeps what it is told. */
export const makeLog = (): Log & { readonly lines: string[] } => {
  const lines: string[] = [];
  return {
    lines,
    error: (message) => lines.push(`error ${message}`),
    warning: (message) => lines.push(`warning ${message}`),
    info: (message) => lines.push(`info ${message}`),
    verbose: (level, message) => lines.push(`verbose ${level} ${message}`),
  };
};

export const messageOf = (error: InferError | undefined): string => (error === undefined ? 'none' : `${error.code} ${error.message}`);
