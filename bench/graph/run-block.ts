import type { Observer } from 'rxjs';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { makeRequest } from './echo-spec.ts';
import type { Engine } from './engine.ts';

/** One block: microseconds for each request, of the clock and of the processor. */
export interface Block {
  readonly wallUs: number;
  readonly cpuUs: number;
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
  readonly #request: InferRequest;

  constructor(round: Round, id: string) {
    this.#round = round;
    this.#request = makeRequest(id);
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
    // The clock is read now and then, so that it is no part of what is measured.
    if (round.answered % 64 !== 0 || performance.now() < round.untilMs) this.ask();
    else if (round.open === 1) round.onDone();
    else round.open--;
  }
}

/** Keeps so many requests in flight for a while. Rejects when the engine's statistics missed some. */
export const runBlock = async (engine: Engine, inFlight: number, measureMs: number): Promise<Block> => {
  const before = engine.counted();
  const [beganMs, began] = [performance.now(), process.cpuUsage()];
  const { promise, resolve } = Promise.withResolvers<void>();
  const round: Round = { engine, untilMs: beganMs + measureMs, answered: 0, open: inFlight, onDone: resolve };
  for (let index = 0; index < inFlight; index++) new Asker(round, String(index)).ask();
  await promise;
  const { user, system } = process.cpuUsage(began);
  const wallUs = ((performance.now() - beganMs) * 1000) / round.answered;
  if (engine.counted() - before !== round.answered)
    throw new Error(`${round.answered} answers, ${engine.counted() - before} in the statistics`);
  return { wallUs, cpuUs: (user + system) / round.answered };
};
