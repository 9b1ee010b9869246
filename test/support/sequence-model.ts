import { type Observable, Subject, type Subscription } from 'rxjs';
import { RateLimiter } from '../../src/operators/rate-limiter/rate-limiter.ts';
import { type RunningModel, runModel } from '../../src/operators/run-model.ts';
import type { Batch, Instance } from '../../src/streams/inference/backend.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import type { InferenceEvent } from '../../src/streams/inference/events.ts';
import type { ModelSpec, SequenceBatching } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { HandInstance, makeLog, makePlacement, makeRequest, makeSpec, messageOf } from './model.ts';
import { makeSequenceBatching } from './sequences.ts';
import { VirtualTime } from './virtual-time.ts';

type Flags = 'S' | 'M' | 'E' | 'SE';

export interface SequenceAsked {
  readonly answers: InferResponse[];
  /** `waits`, `done`, or the error. */
  state: string;
  error: InferError | undefined;
  readonly caller: Subscription;
}

export interface SequenceModelFields {
  readonly spec?: Partial<ModelSpec>;
  readonly batching?: Partial<SequenceBatching>;
  readonly instances?: number;
  readonly capacity?: number;
  /** Each instance takes one of a resource of which there is one. */
  readonly sharesResource?: true;
  readonly hold?: { readonly holdUntilQueued?: number; readonly holdUntilBacklogged?: number };
}

/** A sequence model on virtual time whose instances answer when a test says so. */
export class SequenceModel {
  readonly time = new VirtualTime();
  readonly log = makeLog();
  readonly events: InferenceEvent[] = [];
  readonly instances: HandInstance[] = [];
  /** The lives of the instances, by the same numbers. */
  readonly lives: Subject<Instance>[] = [];
  readonly running: Subscription;
  readonly #capacity: number;
  #model: RunningModel | undefined;

  constructor({ spec = {}, batching = {}, instances = 1, capacity = 1, hold = {}, sharesResource }: SequenceModelFields = {}) {
    this.#capacity = capacity;
    const demand = sharesResource === undefined ? {} : { resources: [{ name: 'R', count: 1, isGlobal: true }] };
    const rateLimiter = sharesResource === undefined ? {} : { rateLimiter: new RateLimiter({ resources: [], log: this.log }) };
    this.running = runModel({
      spec: makeSpec({ dynamicBatching: undefined, sequenceBatching: makeSequenceBatching(batching), ...spec }),
      placements: Array.from({ length: instances }, () => ({ placement: makePlacement(demand), open: () => this.#openLife() })),
      layers: [],
      batching: hold,
      ...rateLimiter,
      sink: (event) => this.events.push(event),
      scheduler: this.time,
      log: this.log,
    }).subscribe((model) => {
      this.#model = model;
    });
    for (let n = 0; n < instances; n++) this.rise(n);
  }

  get model(): RunningModel {
    if (this.#model === undefined) throw new Error('the model did not start');
    return this.#model;
  }

  /** Instances that are begun but not ready become so. */
  rise(n: number): void {
    const instance = this.instances[n];
    if (instance !== undefined) this.lives[n]?.next(instance);
  }

  /** Asks, with the sequence's id as the one byte of its input and `tag` as the request's id. */
  ask(sequenceId: bigint | string, flags: Flags, tag = '', fields: Partial<InferRequest> = {}, width = 4): SequenceAsked {
    const asked = { answers: [] as InferResponse[], state: 'waits', error: undefined as InferError | undefined };
    const request = makeRequest(
      { id: tag, sequenceId, sequenceStart: flags.includes('S'), sequenceEnd: flags.includes('E'), ...fields },
      [1, width],
      Number(sequenceId) || 0,
    );
    const caller = this.model.infer(request).subscribe({
      next: (answer) => asked.answers.push(answer),
      error: (error) => {
        asked.error = error;
        asked.state = messageOf(error);
      },
      complete: () => {
        asked.state = 'done';
      },
    });
    return Object.assign(asked, { caller });
  }

  instance(n = 0): HandInstance {
    const instance = this.instances[n];
    if (instance === undefined) throw new Error(`there is no instance ${n}`);
    return instance;
  }

  /** Request ids of the rows of each batch so far: `a,-,b` with a padding row in the middle. */
  batches(n = 0): string[] {
    return this.instance(n).runs.map(({ batch }) => rowsOf(batch));
  }

  finish(n = 0): void {
    this.instance(n).last.finish();
  }

  counts(): string {
    const [queue, run] = this.model.graph().stages;
    if (queue === undefined || run === undefined) throw new Error('a stage is missing');
    for (const stage of [queue, run]) {
      if (stage.in !== stage.out + stage.failed + stage.queued + stage.running) throw new Error(`stage ${stage.name} lost count`);
    }
    return `queued ${queue.queued} running ${run.running}`;
  }

  /** Ends the model; nothing may be left behind. */
  stop(): number {
    this.running.unsubscribe();
    return this.time.pending;
  }

  #openLife(): Observable<Instance> {
    const life = new Subject<Instance>();
    this.instances.push(new HandInstance(this.#capacity));
    this.lives.push(life);
    return life;
  }
}

const rowsOf = (batch: Batch): string => batch.requests.map(({ id }) => (id === '' ? '-' : id)).join();
