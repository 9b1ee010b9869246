import type { Transferable } from 'node:worker_threads';
import type { NumberRing } from './number-ring.ts';

/** Numbers that are handled before the event loop has its turn. */
const mostAtOnce = 64;

/** Numbers that are handled before the other side is woken for what was sent meanwhile. */
const mostTogether = 4;

/** The message that says no more than: look. */
const look = null;

export interface WireEndConfig<Incoming, Outgoing> {
  readonly incoming: NumberRing;
  readonly outgoing: NumberRing;
  /** Sends a message by the port. */
  readonly post: (message: Outgoing | typeof look, transfer?: readonly Transferable[]) => void;
  readonly onNumber: (value: number) => void;
  readonly onMessage: (message: Incoming) => void;
  /**
   * When the other side is woken for a number that is sent while one is handled: `at-once`, or `together` with those that the next few bring. The
   * second is for who is quick to handle a number.
   */
  readonly wakes: 'at-once' | 'together';
}

/**
 * One end of a wire between two threads: objects go through a port, numbers through shared memory, and each is handled in the order in which all were
 * sent. To wake a sleeping thread costs more than anything else here, so a number does that only when the other side sleeps.
 */
export class WireEnd<Incoming extends object, Outgoing extends object> {
  readonly #config: WireEndConfig<Incoming, Outgoing>;
  /** Objects sent and received. */
  #sent = 0;
  #received = 0;
  /** The rest is read after a turn of the event loop. */
  #isDue = false;
  #isGathering = false;
  #owesLook = false;

  constructor(config: WireEndConfig<Incoming, Outgoing>) {
    this.#config = config;
  }

  send(message: Outgoing, transfer?: readonly Transferable[]): void {
    this.#config.post(message, transfer);
    // Not before: one that cannot be sent throws, and what counted it would wait for it for ever.
    this.#sent++;
  }

  sendNumber(value: number): void {
    if (!this.#config.outgoing.write(value, this.#sent)) return;
    if (this.#isGathering) this.#owesLook = true;
    else this.#config.post(look);
  }

  /** What came through the port. */
  receive(message: Incoming | typeof look): void {
    if (message !== look) {
      // What was sent before it, however much that is.
      while (this.#isNext()) this.#config.onNumber(this.#config.incoming.read());
      this.#received++;
      this.#config.onMessage(message);
    }
    this.#read();
  }

  /** Handles what is there and may be handled now. */
  #read(): void {
    if (this.#isDue) return;
    this.#config.incoming.wake();
    this.#isGathering = this.#config.wakes === 'together';
    const isEmpty = this.#readSome();
    this.#isGathering = false;
    if (isEmpty) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#read();
    });
  }

  /** Whether nothing is left that may be handled now. */
  #readSome(): boolean {
    const { incoming, onNumber } = this.#config;
    for (let left = mostAtOnce; left > 0; left--) {
      const isNext = this.#isNext();
      if (!isNext || left % mostTogether === 0) this.#payLook();
      if (!isNext) {
        incoming.sleep();
        // It may have come before the other side could see that this one sleeps.
        if (!this.#isNext()) return true;
        incoming.wake();
      }
      onNumber(incoming.read());
    }
    this.#payLook();
    return false;
  }

  #payLook(): void {
    if (!this.#owesLook) return;
    this.#owesLook = false;
    this.#config.post(look);
  }

  /** Whether a number is there, and all objects that were sent before it. */
  #isNext(): boolean {
    const { incoming } = this.#config;
    return !incoming.isEmpty && incoming.nextCount <= this.#received;
  }
}
