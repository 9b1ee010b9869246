import type { LoadContext } from './model-context.ts';
import type { Model } from './model-module.ts';
import type { Questions } from './questions.ts';
import { SlotRunner } from './slot-runner.ts';
import { SlotState } from './slot-state.ts';
import { toModelError } from './wire-error.ts';
import type { WorkerCalls } from './worker-calls.ts';
import type { WorkerPorts } from './worker-ports.ts';
import { answerMessage, answerMessages, type FromWorker, slotMessages, type ToWorker } from './worker-protocol.ts';

export interface ModelRunnerConfig {
  readonly model: Model;
  readonly ports: WorkerPorts;
  readonly load: LoadContext;
  readonly calls: WorkerCalls;
  readonly questions: Questions;
  readonly concurrency: number;
  readonly clock: (() => number) | undefined;
  readonly post: (message: FromWorker) => void;
  readonly postNumber: (message: number) => void;
  /** Nothing runs any more, and nothing more will come. */
  readonly onUnload: () => void;
}

/**
 * Runs the batches that the main thread lays into slots: up to `concurrency` at once, which overlap where `execute` waits for something. The main
 * thread is told when one of them waits and there is room for another.
 */
export class ModelRunner {
  readonly #config: ModelRunnerConfig;
  readonly #slots: SlotRunner[] = [];
  /** No more than there are slots. */
  readonly #waiting: number[] = [];
  #running = 0;
  #isStarting = false;

  constructor(config: ModelRunnerConfig) {
    this.#config = config;
  }

  receiveNumber(message: number): void {
    const slot = message >> 1;
    if ((message & 1) === slotMessages.read) {
      this.#slots[slot]?.read();
      return;
    }
    this.#waiting.push(slot);
    this.#startWaiting();
  }

  receive(message: ToWorker): void {
    const { calls, questions } = this.#config;
    switch (message.kind) {
      case 'slot':
        if (message.state !== undefined) this.#slots[message.slot] = this.#newSlot(message.slot, new SlotState(message.state));
        this.#slots[message.slot]?.useInputs(message.inputs);
        return;
      case 'cancelled':
        this.#slots[message.slot]?.cancel(message.of);
        return;
      case 'call-answered':
        calls.answered(message);
        return;
      case 'call-ended':
        calls.ended(message.call, message.error);
        return;
      case 'reply':
        questions.answer(message.question, message.value, message.error === undefined ? undefined : toModelError(message.error));
        return;
      case 'unload':
        this.#config.onUnload();
    }
  }

  /** One that ends at once starts the next: in this loop, not inside itself. */
  #startWaiting(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    while (this.#running < this.#config.concurrency) {
      const slot = this.#waiting.shift();
      if (slot === undefined) break;
      this.#running++;
      this.#slots[slot]?.start();
    }
    this.#isStarting = false;
  }

  #release(): void {
    for (const [slot, runner] of this.#slots.entries()) {
      if (this.#running >= this.#config.concurrency || this.#waiting.length > 0) return;
      if (!runner.isPending || runner.isReleased) continue;
      runner.isReleased = true;
      this.#config.postNumber(answerMessage(slot, answerMessages.released));
    }
  }

  #newSlot(slot: number, state: SlotState): SlotRunner {
    const { model, ports, load, calls, post, postNumber, clock } = this.#config;
    return new SlotRunner({
      slot,
      state,
      model,
      ports,
      load,
      calls,
      post,
      postNumber,
      clock,
      onPending: () => this.#release(),
      onEnded: () => {
        this.#running--;
        this.#startWaiting();
        if (this.#running > 0) this.#release();
      },
    });
  }
}
