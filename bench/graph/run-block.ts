import type { Observer } from 'rxjs';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import type { Engine } from './engine.ts';
import type { Questions } from './questions.ts';

/** One block: microseconds for each request, of the clock and of the processor. */
export interface Block {
  readonly wallUs: number;
  readonly cpuUs: number;
}

export interface BlockConfig {
  readonly engine: Engine;
  readonly questions: Questions;
  readonly inFlight: number;
  readonly measureMs: number;
}

interface Round {
  readonly engine: Engine;
  readonly untilMs: number;
  answered: number;
  open: number;
  readonly onDone: () => void;
}

/** One caller: asks again when it has its answer. */
class Asker implements Observer<InferResponse> {
  readonly #round: Round;
  readonly #question: () => InferRequest;
  #request: InferRequest;

  constructor(round: Round, question: () => InferRequest) {
    this.#round = round;
    this.#question = question;
    this.#request = question();
  }

  ask(): void {
    this.#round.engine.ask(this.#request, this);
  }

  next(response: InferResponse): void {
    if (response.id !== this.#request.id || response.outputs.get('OUTPUT0') !== this.#request.inputs.get('INPUT0')) {
      throw new Error(`the answer to ${response.id} in place of ${this.#request.id}`);
    }
  }

  error(error: unknown): void {
    throw error;
  }

  complete(): void {
    const round = this.#round;
    round.answered++;
    if (!this.#mayStop() || performance.now() < round.untilMs) {
      this.#request = this.#question();
      this.ask();
    } else if (round.open === 1) round.onDone();
    else round.open--;
  }

  /** Now and then, so that reading the clock is no part of what is measured; a sequence only at its end. */
  #mayStop(): boolean {
    const { sequenceId, sequenceEnd } = this.#request;
    return sequenceId === 0n ? this.#round.answered % 64 === 0 : sequenceEnd;
  }
}

/** Keeps so many requests in flight for a while. Rejects when the engine's statistics missed some. */
export const runBlock = async ({ engine, questions, inFlight, measureMs }: BlockConfig): Promise<Block> => {
  const before = engine.counted();
  const [beganMs, began] = [performance.now(), process.cpuUsage()];
  const { promise, resolve } = Promise.withResolvers<void>();
  const round: Round = { engine, untilMs: beganMs + measureMs, answered: 0, open: inFlight, onDone: resolve };
  for (let caller = 0; caller < inFlight; caller++) new Asker(round, questions(caller)).ask();
  await promise;
  const { user, system } = process.cpuUsage(began);
  const wallUs = ((performance.now() - beganMs) * 1000) / round.answered;
  if (engine.counted() - before !== round.answered)
    throw new Error(`${round.answered} answers, ${engine.counted() - before} in the statistics`);
  return { wallUs, cpuUs: (user + system) / round.answered };
};
