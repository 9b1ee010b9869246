import type { Observable, Subscriber, Subscription } from 'rxjs';
import { Observable as Cold } from 'rxjs';
import { LocalCache } from '../../src/caches/local/local-cache.ts';
import { noCacheStageCounters, type ResponseCacheConfig, responseCache } from '../../src/operators/cache/response-cache.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import type { InferenceEvent } from '../../src/streams/inference/events.ts';
import type { Infer } from '../../src/streams/inference/infer.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { makeLog, makeSpec } from './model.ts';
import { VirtualTime } from './virtual-time.ts';

/** One run of the model behind the cache. */
export interface CachedRun {
  readonly request: InferRequest;
  /** Emits an answer whose one output OUT lies in memory that is overwritten right after. */
  answer(bytes: readonly number[], fields?: Partial<InferResponse>): void;
  complete(): void;
  fail(error: InferError): void;
  isCancelled: boolean;
}

/** What became of a request. */
export interface Heard {
  readonly answers: {
    readonly id: string;
    readonly bytes: readonly number[];
    readonly isLast: boolean;
    readonly error?: InferError | undefined;
  }[];
  error: InferError | undefined;
  isComplete: boolean;
  readonly caller: Subscription;
}

const answerOf = (run: Pick<CachedRun, 'request'>, subscriber: Subscriber<InferResponse>): CachedRun['answer'] => {
  return (bytes, fields = {}) => {
    const memory = Buffer.from(bytes);
    const outputs = new Map([['OUT', new Tensor('UINT8', [1, bytes.length], memory)]]);
    const { modelName, id } = run.request;
    subscriber.next({ modelName, modelVersion: '1', id, parameters: noParameters, outputs, isLast: true, ...fields });
    memory.fill(255);
  };
};

/** A model that runs by hand, behind a cache; the callers' side of it, and everything that they and the sink hear. */
export class CachedModel {
  readonly time = new VirtualTime();
  readonly log = makeLog();
  readonly events: InferenceEvent[] = [];
  readonly counters = noCacheStageCounters();
  readonly runs: CachedRun[] = [];
  readonly cache: ResponseCacheConfig['cache'];
  readonly infer: Infer;

  constructor(config: Partial<ResponseCacheConfig> = {}) {
    this.cache = config.cache ?? new LocalCache({ sizeBytes: 1_000_000, log: this.log });
    this.infer = responseCache({
      spec: makeSpec(),
      contentId: 'a',
      sink: (event) => this.events.push(event),
      scheduler: this.time,
      log: this.log,
      counters: this.counters,
      ...config,
      cache: this.cache,
    })((request) => this.#run(request));
  }

  get last(): CachedRun {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error('nothing ran yet');
    return run;
  }

  ask(request: InferRequest): Heard {
    const heard = { answers: [] as Heard['answers'][number][], error: undefined as InferError | undefined, isComplete: false };
    const caller = this.infer(request).subscribe({
      next: ({ id, isLast, outputs, error }) =>
        heard.answers.push({ id, isLast, bytes: [...(outputs.get('OUT')?.bytes ?? [])], ...(error === undefined ? {} : { error }) }),
      error: (error: InferError) => {
        heard.error = error;
      },
      complete: () => {
        heard.isComplete = true;
      },
    });
    return Object.assign(heard, { caller });
  }

  #run(request: InferRequest): Observable<InferResponse> {
    return new Cold((subscriber) => {
      let isOver = false;
      const run: CachedRun = {
        request,
        answer: answerOf({ request }, subscriber),
        complete: () => {
          isOver = true;
          subscriber.complete();
        },
        fail: (error) => {
          isOver = true;
          subscriber.error(error);
        },
        isCancelled: false,
      };
      this.runs.push(run);
      return () => {
        run.isCancelled = !isOver;
      };
    });
  }
}
