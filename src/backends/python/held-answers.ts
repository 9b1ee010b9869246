import type { Demand } from '../../streams/flow/demand.ts';
import type { Part } from '../../streams/inference/backend.ts';
import type { AnswerBlock } from './answer-block.ts';

/** What waits beyond these is handed on without room: then the process does not wait, and whoever asked has a bound of its own. */
const mostHeld = 1024;
const mostHeldBytes = 16 * 2 ** 20;

interface HeldAnswer {
  readonly part: Part;
  /** Undefined for the end of a request that the process has only told of. */
  readonly block: AnswerBlock | undefined;
}

export interface HeldAnswersConfig {
  readonly demand: Demand;
  readonly emit: (part: Part) => void;
  /** None is left. */
  readonly onEmpty: () => void;
}

/** Answers to one request for which whoever asked has no room, in their order. They lie in the process's memory, and the process waits for it. */
export class HeldAnswers {
  readonly #config: HeldAnswersConfig;
  readonly #onOpen: () => void;
  readonly #waiting: HeldAnswer[] = [];
  #bytes = 0;
  #isEmitting = false;
  /** Nobody takes them any more. */
  #isGone = false;

  constructor(config: HeldAnswersConfig) {
    this.#config = config;
    const onOpen = (): void => this.#emitWaiting();
    this.#onOpen = onOpen;
  }

  add(part: Part, block: AnswerBlock | undefined): void {
    block?.keep();
    this.#bytes += block?.length ?? 0;
    this.#waiting.push({ part, block });
    this.#emitWaiting();
  }

  /** Nobody is left who would take them: those that wait and those that come are emitted at once. */
  letGo(): void {
    this.#isGone = true;
    this.forget();
    this.#emitWaiting();
  }

  /** It hears no more of the demand. */
  forget(): void {
    const { demand } = this.#config;
    if (demand.onOpen === this.#onOpen) demand.onOpen = undefined;
  }

  #emitWaiting(): void {
    // Emitting may make room, or take it.
    if (this.#isEmitting) return;
    this.#isEmitting = true;
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      const answer = this.#waiting.shift();
      if (answer === undefined) break;
      this.#bytes -= answer.block?.length ?? 0;
      this.#config.emit(answer.part);
      answer.block?.letGo();
    }
    this.#isEmitting = false;
    if (this.#waiting.length === 0) this.#config.onEmpty();
  }

  #hasRoom(): boolean {
    if (this.#isGone || this.#waiting.length > mostHeld || this.#bytes > mostHeldBytes) return true;
    const { demand } = this.#config;
    const { isOpen } = demand;
    demand.onOpen = isOpen ? undefined : this.#onOpen;
    return isOpen;
  }
}
