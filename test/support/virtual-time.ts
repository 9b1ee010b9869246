import { VirtualTimeScheduler } from 'rxjs';

/** Time that passes only when told. Work without delay runs at the next `advance`, `advance(0)` included. */
export class VirtualTime extends VirtualTimeScheduler {
  /** Timers that have not fired. */
  get pending(): number {
    return this.actions.length;
  }

  advance(ms: number): void {
    const until = this.frame + ms;
    this.maxFrames = until;
    this.flush();
    this.frame = until;
  }
}
