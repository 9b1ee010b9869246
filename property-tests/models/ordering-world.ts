import type { Subscriber, Subscription } from 'rxjs';
import { Observable } from 'rxjs';
import { preserveOrdering } from '../../src/operators/layers/preserve-ordering.ts';
import { noOrderCounters } from '../../src/streams/flow/in-order.ts';
import type { ErrorReason } from '../../src/streams/inference/error.ts';
import { InferError } from '../../src/streams/inference/error.ts';
import type { Infer } from '../../src/streams/inference/infer.ts';
import { noParameters } from '../../src/streams/inference/parameters.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { makeRequest } from '../../test/support/model.ts';

export interface OrderingSetting {
  /** Answers that may be held. */
  readonly limit: number;
  readonly maxBytes: number;
}

/** What a caller does when an answer or an error comes to it; one who drives makes the first model that is still at work answer. */
export type Habit = 'listens' | 'leaves' | 'asks again' | 'cancels the next' | 'drives';

interface Asked {
  readonly n: number;
  readonly habit: Habit;
  /** Bytes of each answer that its model gave. */
  readonly given: number[];
  /** How many of them came to the caller. */
  received: number;
  /** How its model ended it. */
  modelEnd: 'none' | 'complete' | ErrorReason;
  /** How it ended for its caller. */
  end: 'none' | 'complete' | 'cancelled' | 'no room' | ErrorReason;
  caller: Subscription | undefined;
  inner: Subscriber<InferResponse> | undefined;
}

/** The layer, a model whose answers come when a step says so, and the faults found so far. */
export class OrderingWorld {
  readonly setting: OrderingSetting;
  readonly asked: Asked[] = [];
  /** Collected here and asserted by the property: what is thrown inside of a stream may never be seen. */
  readonly faults: string[] = [];
  readonly counters = noOrderCounters();
  readonly #infer: Infer;
  /** As a model's memory: what an answer shows is gone after `next()`. */
  readonly #memory = new Uint8Array(16);
  /** Answers that the next request gets within its own subscription, as from a cache. */
  #atOnce: number | undefined;
  #room = 30;

  constructor(setting: OrderingSetting) {
    this.setting = setting;
    this.#infer = preserveOrdering({ spec: { name: 'm' }, counters: this.counters, ...setting })(
      ({ id }) =>
        new Observable((inner) => {
          const asked = this.asked[Number(id)];
          if (asked === undefined) return;
          asked.inner = inner;
          if (this.#atOnce !== undefined) {
            const bytes = this.#atOnce;
            this.#atOnce = undefined;
            this.answer(asked, bytes);
            this.complete(asked);
          }
        }),
    );
  }

  /** Whose model is still at work, or would be if its caller had not gone. */
  get open(): readonly Asked[] {
    return this.asked.filter(({ modelEnd, end }) => modelEnd === 'none' && end === 'none');
  }

  get unanswered(): readonly Asked[] {
    return this.asked.filter(({ end }) => end === 'none');
  }

  /** `atOnce`: the bytes of an answer that it gets before `subscribe` returns. */
  ask(habit: Habit, atOnce?: number): void {
    const asked: Asked = {
      n: this.asked.length,
      habit,
      given: [],
      received: 0,
      modelEnd: 'none',
      end: 'none',
      caller: undefined,
      inner: undefined,
    };
    this.asked.push(asked);
    this.#atOnce = atOnce;
    const caller = this.#infer(makeRequest({ id: `${asked.n}` })).subscribe({
      next: (response) => this.#onAnswer(asked, response),
      error: (error: InferError) => this.#onError(asked, error),
      complete: () => {
        this.#checkTurn(asked, 'ended');
        if (asked.modelEnd !== 'complete' || asked.received < asked.given.length) this.faults.push(`${asked.n} is complete too early`);
        asked.end = 'complete';
      },
    });
    asked.caller = caller;
    if (asked.end === 'cancelled') caller.unsubscribe();
  }

  answer(asked: Asked, bytes: number): void {
    asked.given.push(bytes);
    this.#memory.fill(asked.n * 16 + asked.given.length);
    asked.inner?.next({
      modelName: 'm',
      modelVersion: '1',
      id: `${asked.n}`,
      parameters: noParameters,
      outputs: new Map([['OUT', new Tensor('UINT8', [bytes], this.#memory, 0, bytes)]]),
      isLast: false,
    });
    this.#memory.fill(255);
  }

  complete(asked: Asked): void {
    asked.modelEnd = 'complete';
    asked.inner?.complete();
  }

  fail(asked: Asked, reason: ErrorReason): void {
    const isFirst = this.unanswered[0] === asked;
    const isHeld = asked.received < asked.given.length;
    asked.modelEnd = reason;
    asked.inner?.error(new InferError('INTERNAL', reason, { reason }));
    const isUrgent = reason === 'REJECTED' || reason === 'CANCELED';
    if ((isFirst || (isUrgent && !isHeld)) && asked.end === 'none') this.faults.push(`${asked.n} failed as ${reason} and its caller waits`);
  }

  cancel(asked: Asked): void {
    if (asked.end !== 'none') return;
    asked.end = 'cancelled';
    asked.caller?.unsubscribe();
  }

  /** What holds between two steps. */
  check(): void {
    const [first] = this.unanswered;
    if (first !== undefined && (first.received < first.given.length || first.modelEnd !== 'none')) {
      this.faults.push(`${first.n} has its turn, and yet something of it is held back`);
    }
    const held = this.unanswered.reduce((sum, { given, received }) => sum + given.length - received, 0);
    const bytes = this.unanswered.reduce((sum, { given, received }) => sum + given.slice(received).reduce((all, size) => all + size, 0), 0);
    const { counters, setting } = this;
    if (counters.held !== held || counters.heldSize !== bytes) {
      this.faults.push(`${counters.held} answers of ${counters.heldSize} bytes are said to be held, ${held} of ${bytes} are`);
    }
    if (held > setting.limit || (held > 1 && bytes > setting.maxBytes)) this.faults.push(`${held} answers of ${bytes} bytes are held`);
    if (counters.in !== counters.out + counters.dropped + counters.held) this.faults.push('answers were lost count of');
    for (const { n, end, inner } of this.asked) {
      if ((end === 'cancelled' || end === 'no room') && inner?.closed !== true) this.faults.push(`${n} has gone and its model works on`);
    }
  }

  /** Lets every model come to its end, the last request first. */
  finish(): void {
    for (const asked of this.open.toReversed()) if (asked.end === 'none') this.complete(asked);
    this.check();
    for (const { n } of this.unanswered) this.faults.push(`${n} never ended`);
    if (this.counters.held > 0 || this.counters.heldSize > 0) this.faults.push('something is held at the end');
  }

  #onAnswer(asked: Asked, { id, outputs }: InferResponse): void {
    this.#checkTurn(asked, 'was answered');
    const bytes = outputs.get('OUT')?.bytes;
    asked.received++;
    const isOwn =
      bytes?.length === asked.given[asked.received - 1] && bytes?.every((byte) => byte === (asked.n * 16 + asked.received) % 256);
    if (id !== `${asked.n}` || !isOwn) this.faults.push(`answer ${asked.received} of ${asked.n} is not what its model gave`);
    if (asked.end !== 'none') this.faults.push(`${asked.n} was answered after it had ended (${asked.end})`);
    if (asked.habit === 'leaves') this.cancel(asked);
    else if (asked.habit === 'cancels the next') this.#cancelAfter(asked);
    else if (asked.habit === 'asks again' && this.#room-- > 0) this.ask('listens', 3);
    else if (asked.habit === 'drives') this.#drive();
  }

  #onError(asked: Asked, { reason, code }: InferError): void {
    const isUrgent = reason === 'REJECTED' || reason === 'CANCELED';
    if (code === 'UNAVAILABLE') this.#onNoRoom(asked);
    else if (reason !== asked.modelEnd) this.faults.push(`${asked.n} failed as ${reason}, its model as ${asked.modelEnd}`);
    else if (!isUrgent) this.#checkTurn(asked, 'failed');
    if (code !== 'UNAVAILABLE' && asked.received < asked.given.length) this.faults.push(`${asked.n} failed before its answers had come`);
    asked.end = code === 'UNAVAILABLE' ? 'no room' : reason;
    if (asked.habit === 'drives') this.#drive();
  }

  #drive(): void {
    const [first] = this.open;
    if (first !== undefined && this.#room-- > 0) this.answer(first, 2);
  }

  #onNoRoom(asked: Asked): void {
    const others = this.unanswered.flatMap((each) => each.given.slice(each.received, each === asked ? -1 : undefined));
    const bytes = others.reduce((sum, size) => sum + size, 0);
    const isFull = others.length >= this.setting.limit || (others.length > 0 && bytes + (asked.given.at(-1) ?? 0) > this.setting.maxBytes);
    if (!isFull) this.faults.push(`${asked.n} was refused beside room: ${others.length} answers of ${bytes} bytes`);
  }

  #cancelAfter({ n }: Asked): void {
    const next = this.unanswered.find((each) => each.n > n);
    if (next !== undefined) this.cancel(next);
  }

  #checkTurn({ n }: Asked, what: string): void {
    const earlier = this.unanswered.find((each) => each.n < n);
    if (earlier !== undefined) this.faults.push(`${n} ${what} while ${earlier.n} had not ended`);
  }
}
