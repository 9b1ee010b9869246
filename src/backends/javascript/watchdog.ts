import type { Subscription } from 'rxjs';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { SlotState } from './slot-state.ts';

export interface WatchdogConfig {
  readonly limitMs: number;
  /** States of the slots that have a batch now. */
  readonly busy: () => readonly SlotState[];
  /** An execution has lasted longer than the limit. */
  readonly onTimeout: () => void;
}

/** Watches over how long executions last. One timer, that of the one that is to end first. */
export class Watchdog {
  readonly #config: WatchdogConfig;
  #timer: Subscription | undefined;

  constructor(config: WatchdogConfig) {
    this.#config = config;
  }

  /** A batch was given to the worker. */
  watch(): void {
    this.#timer ??= machineScheduler.schedule(() => this.#look(), this.#config.limitMs);
  }

  close(): void {
    this.#timer?.unsubscribe();
  }

  #look(): void {
    const { limitMs, busy, onTimeout } = this.#config;
    this.#timer = undefined;
    const states = busy();
    if (states.length === 0) return;
    const nowMs = machineScheduler.now();
    // One that the worker has not begun has its whole time before it.
    const began = states.map(({ beganMs }) => (beganMs === 0 ? nowMs : beganMs));
    const leftMs = Math.min(...began) + limitMs - nowMs;
    if (leftMs <= 0) onTimeout();
    else this.#timer = machineScheduler.schedule(() => this.#look(), leftMs);
  }
}
