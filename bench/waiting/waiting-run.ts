import { setImmediate } from 'node:timers/promises';
import type { Observer, Unsubscribable } from 'rxjs';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import type { Engine } from '../graph/engine.ts';
import type { Block } from '../graph/run-block.ts';
import { startWeirGraph } from '../graph/weir-graph.ts';
import { HeldInstance, heldBackend } from './held-backend.ts';
import type { Queue } from './queues.ts';

/** Random numbers from 0 to 1, the same ones in every run: mulberry32. */
const seededRandom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const shuffle = (items: number[], random: () => number): void => {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other] ?? 0, items[last] ?? 0];
  }
};

/** What has become of the requests of a round. */
interface Outcomes {
  answered: number;
  failed: number;
  cancelled: number;
}

/** One request and who waits for its answer. */
class Caller implements Observer<InferResponse> {
  readonly #outcomes: Outcomes;
  readonly #asked: Unsubscribable;
  #isOpen = true;

  constructor(engine: Engine, request: InferRequest, outcomes: Outcomes) {
    this.#outcomes = outcomes;
    this.#asked = engine.ask(request, this);
  }

  cancel(): void {
    this.#end('cancelled');
    this.#asked.unsubscribe();
  }

  next(): void {}

  error(): void {
    this.#end('failed');
  }

  complete(): void {
    this.#end('answered');
  }

  #end(as: keyof Outcomes): void {
    if (this.#isOpen) this.#outcomes[as]++;
    this.#isOpen = false;
  }
}

const endedOf = ({ answered, failed, cancelled }: Outcomes): number => answered + failed + cancelled;

/** Lets requests wait behind an instance that is held, cancels some of them, lets the instance go on, and waits until none is left. */
export class WaitingRun {
  readonly #queue: Queue;
  readonly #engine: Engine;
  readonly #instance: HeldInstance;
  readonly #random = seededRandom(1);

  private constructor(queue: Queue, engine: Engine, instance: HeldInstance) {
    this.#queue = queue;
    this.#engine = engine;
    this.#instance = instance;
  }

  static async start(queue: Queue): Promise<WaitingRun> {
    const instance = new HeldInstance();
    return new WaitingRun(queue, await startWeirGraph(queue.spec, heldBackend(instance)), instance);
  }

  /** Microseconds for each request, its arrival, its cancellation or answer together. */
  async block(waiting: number, times: number): Promise<Block> {
    const requests = this.#queue.requests(waiting);
    const [beganMs, began] = [performance.now(), process.cpuUsage()];
    for (let time = 0; time < times; time++) await this.#round(requests);
    const { user, system } = process.cpuUsage(began);
    const count = waiting * times;
    return { wallUs: ((performance.now() - beganMs) * 1000) / count, cpuUs: (user + system) / count };
  }

  stop(): void {
    this.#engine.stop();
  }

  async #round(requests: readonly InferRequest[]): Promise<void> {
    const before = this.#engine.counted();
    const outcomes: Outcomes = { answered: 0, failed: 0, cancelled: 0 };
    this.#instance.hold();
    const callers = requests.map((request) => new Caller(this.#engine, request, outcomes));
    while (!this.#instance.hasBatch) await setImmediate();
    const cancelled = this.#queue.cancelled(requests.length, this.#random);
    shuffle(cancelled, this.#random);
    for (const index of cancelled) callers[index]?.cancel();
    this.#instance.goOn();
    while (endedOf(outcomes) < requests.length) await setImmediate();
    const counted = this.#engine.counted() - before;
    if (counted !== outcomes.answered) throw new Error(`${outcomes.answered} answers, ${counted} in the statistics`);
  }
}
