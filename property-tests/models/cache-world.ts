import { setImmediate } from 'node:timers/promises';
import { Observable } from 'rxjs';
import { LocalCache } from '../../src/caches/local/local-cache.ts';
import { noCacheStageCounters, responseCache } from '../../src/operators/cache/response-cache.ts';
import { type ErrorReason, InferError } from '../../src/streams/inference/error.ts';
import type { Infer } from '../../src/streams/inference/infer.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import type { ResponseCache } from '../../src/streams/inference/response-cache.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { makeLog, makeSpec } from '../../test/support/model.ts';
import { VirtualTime } from '../../test/support/virtual-time.ts';
import { type Asked, type CacheSetting, type End, first, type Habit, mostAnswers, type Run, stamp } from './cache-asked.ts';
import { contents } from './cache-contents.ts';
import { SlowCache } from './slow-cache.ts';

/** The layer over a real cache, a model whose runs end when a step says so, and the faults found so far. */
export class CacheWorld {
  readonly setting: CacheSetting;
  readonly asked: Asked[] = [];
  readonly runs: Run[] = [];
  /** Collected here and asserted by the property: what is thrown inside of a stream may never be seen. */
  readonly faults: string[] = [];
  readonly time = new VirtualTime();
  readonly counters = noCacheStageCounters();
  readonly #local: LocalCache;
  readonly #slow: SlowCache;
  readonly #cache: ResponseCache;
  #infer: Infer;
  #load = 0;
  #hits = 0;
  #misses = 0;
  #room = 40;

  constructor(setting: CacheSetting) {
    this.setting = setting;
    this.#local = new LocalCache({ sizeBytes: setting.sizeBytes, log: makeLog() });
    this.#slow = new SlowCache(this.#local);
    this.#cache = setting.fetches ? this.#slow : this.#local;
    this.#infer = this.#build();
  }

  get atWork(): readonly Run[] {
    return this.runs.filter(({ end }) => end === undefined);
  }

  get waiting(): readonly Asked[] {
    return this.asked.filter(({ end }) => end === undefined);
  }

  /** Lets the cache answer what it was asked longest ago; resolves when everybody has heard. */
  async fetch(): Promise<void> {
    this.#slow.answer();
    await setImmediate();
  }

  ask(content: number, habit: Habit): void {
    const request = contents[content]?.request;
    if (request === undefined) return;
    const asked: Asked = {
      n: this.asked.length,
      content,
      load: this.#load,
      habit,
      received: [],
      ends: 0,
      end: undefined,
      caller: undefined,
    };
    this.asked.push(asked);
    new Observable<InferResponse>((caller) => {
      asked.caller = caller;
      return this.#infer({ ...request, id: `${asked.n}` }).subscribe(caller);
    }).subscribe({
      next: (response) => this.#onAnswer(asked, response),
      error: (error: InferError) => this.#onEnd(asked, error.message.includes('maximum queue') ? 'too many' : error.reason),
      complete: () => this.#onEnd(asked, 'complete'),
    });
  }

  answer(run: Run, isLast: boolean): void {
    if (run.end !== undefined) return;
    const bytes = stamp(run, this.setting.answerBytes);
    run.answers++;
    if (isLast) run.end = 'complete';
    const outputs = new Map([['OUT', new Tensor('UINT8', [1, bytes.byteLength], bytes)]]);
    run.caller.next({ modelName: 'm', modelVersion: '1', id: 'its own', parameters: noParameters, outputs, isLast });
    // What an answer shows is gone after `next()`.
    bytes.fill(255);
    if (isLast) run.caller.complete();
  }

  complete(run: Run): void {
    if (run.end !== undefined) return;
    run.end = 'complete';
    run.caller.complete();
  }

  fail(run: Run, reason: ErrorReason): void {
    if (run.end !== undefined) return;
    const concerned = !this.#mayPass && this.#isAlone(run) ? this.waiting.filter((asked) => this.#isOf(asked, run)) : [];
    run.end = reason;
    run.caller.error(new InferError('INTERNAL', 'failed', { reason }));
    const failed = concerned.filter(({ end }) => end === reason).length;
    if (reason === 'BACKEND' && concerned.some(({ end }) => end === undefined)) this.faults.push(`run ${run.n} failed, and not for all`);
    if (reason !== 'BACKEND' && run.answers === 0 && failed > 1) this.faults.push(`${failed} were rejected with run ${run.n}`);
  }

  cancel(asked: Asked): void {
    if (asked.end !== undefined) return;
    asked.end = 'cancelled';
    asked.caller?.unsubscribe();
  }

  /** Other content is loaded under the same name and version. What the old one still runs goes on. */
  reload(): void {
    this.#load++;
    this.#infer = this.#build();
  }

  /** What holds at every moment. */
  check(): void {
    const { in: entered, out, failed, queued, running } = this.counters;
    if (entered !== out + failed + queued + running) this.faults.push('the stage lost count');
    if (queued > this.setting.limit * (this.#load + 1)) this.faults.push(`${queued} wait`);
    if (queued + running !== this.waiting.length) this.faults.push(`${queued + running} are said to be inside, ${this.waiting.length} are`);
    const fill = this.#local.fill();
    if (fill.utilization > 1) this.faults.push(`the cache holds ${fill.utilization} of its size`);
    const { lookups, hits, misses } = this.#cache.tally;
    if (lookups !== hits + misses) this.faults.push(`${lookups} lookups, ${hits} hits, ${misses} misses`);
    for (const { n, end, ends } of this.asked) {
      if (end !== 'cancelled' && ends !== (end === undefined ? 0 : 1)) this.faults.push(`${n} ended ${ends} times, by ${end}`);
    }
    this.#checkRuns();
  }

  /** Lets everything that is inside come to its end. */
  async finish(): Promise<void> {
    for (let rounds = 0; rounds < 200 && (this.atWork.length > 0 || this.#slow.isAsked); rounds++) {
      await this.fetch();
      for (const run of this.atWork) this.answer(run, true);
    }
    this.check();
    if (this.waiting.length > 0 || this.counters.queued + this.counters.running > 0) this.faults.push('something is left inside');
    const { hits, misses } = this.#cache.tally;
    if (hits < this.#hits || misses !== this.#misses)
      this.faults.push(`${this.#hits} hits and ${this.#misses} misses were told, not ${hits} and ${misses}`);
  }

  /** Whether answers may grow too large to be kept: then others no longer join their run. */
  get #mayPass(): boolean {
    return this.setting.sizeBytes < mostAnswers * (this.setting.answerBytes + 256);
  }

  #checkRuns(): void {
    if (this.#mayPass) return;
    for (const run of this.atWork) {
      if (!this.#isAlone(run)) this.faults.push(`what run ${run.n} runs for runs twice`);
      for (const asked of this.waiting) {
        if (this.#isOf(asked, run) && asked.received.length !== run.answers) this.faults.push(`${asked.n} lacks answers of run ${run.n}`);
      }
    }
  }

  #isOf(asked: Asked, { content, load }: Run): boolean {
    return asked.load === load && first(asked.content) === first(content);
  }

  #isAlone(run: Run): boolean {
    return this.atWork.every((other) => other === run || other.load !== run.load || first(other.content) !== first(run.content));
  }

  #build(): Infer {
    const load = this.#load;
    return responseCache({
      spec: makeSpec({ decoupled: this.setting.decoupled, maxQueueSize: this.setting.limit, dynamicBatching: undefined, outputs: [] }),
      cache: this.#cache,
      contentId: `${load}`,
      sink: ({ kind }) => {
        if (kind === 'cache-answered') this.#hits++;
        else if (kind === 'cache-missed') this.#misses++;
      },
      scheduler: this.time,
      log: makeLog(),
      counters: this.counters,
    })((request) => this.#run(request, load));
  }

  #run({ id }: InferRequest, load: number): Observable<InferResponse> {
    return new Observable((caller) => {
      const asker = this.asked[Number(id)];
      if (asker === undefined) return undefined;
      const run: Run = { n: this.runs.length, content: asker.content, load, caller, answers: 0, end: undefined };
      this.runs.push(run);
      if (asker.load !== load) this.faults.push(`${asker.n} runs under load ${load}`);
      if (asker.end !== undefined) this.faults.push(`${asker.n} runs though it has ended`);
      return () => {
        run.end ??= 'cancelled';
      };
    });
  }

  #onAnswer(asked: Asked, { id, outputs, isLast }: InferResponse): void {
    const bytes = outputs.get('OUT')?.bytes;
    if (asked.end !== undefined) this.faults.push(`${asked.n} hears after its end`);
    if (id !== `${asked.n}`) this.faults.push(`${asked.n} is answered as ${id}`);
    if (bytes === undefined || bytes.byteLength < 8) {
      this.faults.push(`${asked.n} is answered nothing`);
      return;
    }
    const [n = 0, place = 0, content = 0, load = 0] = [0, 2, 4, 6].map((at) => Buffer.from(bytes).readUInt16LE(at));
    const run = this.runs[n];
    if (first(content) !== first(asked.content) || load !== asked.load)
      this.faults.push(`${asked.n}, content ${asked.content} of load ${asked.load}, got ${content} of ${load}`);
    if (asked.received.length !== place || asked.received.some(([other]) => other !== n)) {
      this.faults.push(`${asked.n} got answer ${place} of run ${n} after ${JSON.stringify(asked.received)}`);
    }
    if (run?.end !== undefined && run.end !== 'complete' && run.end !== 'cancelled' && isLast)
      this.faults.push(`${asked.n} got the end of a failed run`);
    asked.received.push([n, place]);
    this.#react(asked);
  }

  #onEnd(asked: Asked, end: End): void {
    if (asked.end !== undefined) this.faults.push(`${asked.n} ends by ${end} after ${asked.end}`);
    asked.ends++;
    asked.end = end;
    const run = this.runs[asked.received[0]?.[0] ?? -1];
    if (end === 'complete' && run !== undefined && asked.received.length !== run.answers) {
      this.faults.push(`${asked.n} got ${asked.received.length} of ${run.answers} answers of run ${run.n}`);
    }
    if (end === 'complete' && run !== undefined && run.end !== 'complete')
      this.faults.push(`${asked.n} got a run that ended by ${run.end}`);
    this.#react(asked);
  }

  #react({ n, content, habit, end }: Asked): void {
    if (habit === 'cancels the next') {
      const next = this.waiting.find((other) => other.n > n);
      if (next !== undefined) this.cancel(next);
    } else if (habit === 'asks again' && this.#room > 0) {
      this.#room--;
      this.ask(content, 'listens');
    } else if (habit === 'drives' && this.#room > 0) {
      this.#room--;
      const [run] = this.atWork;
      if (run !== undefined) this.answer(run, !this.setting.decoupled);
    } else if (habit === 'leaves' && end === undefined) {
      const own = this.asked[n];
      if (own !== undefined) this.cancel(own);
    }
  }
}
