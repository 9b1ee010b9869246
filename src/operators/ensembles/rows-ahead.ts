/** Rows that a step may be ahead of the steps behind it. */
export interface AheadMarks {
  /** From here on the model is to wait, until half of it is left. */
  readonly pauseRows: number;
  readonly pauseBytes: number;
  /** Past these the request fails. */
  readonly refuseRows: number;
  readonly refuseBytes: number;
}

/**
 * How far one step of one request is ahead: rows that its answers have begun and that are not over, and what was copied for them. Where the step runs many
 * times for the request, behind another one that answers many times, these are of all its runs: each of them may begin a few rows only.
 */
export class RowsAhead {
  readonly #marks: AheadMarks;
  #rows = 0;
  #bytes = 0;
  #isPaused = false;

  constructor(marks: AheadMarks) {
    this.#marks = marks;
  }

  /** Whether its model is to wait. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether there is room for no further row. */
  get isFull(): boolean {
    return this.#rows >= this.#marks.refuseRows || this.#bytes >= this.#marks.refuseBytes;
  }

  beginRow(): void {
    this.#rows++;
    if (this.#rows >= this.#marks.pauseRows) this.#isPaused = true;
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= this.#marks.pauseBytes) this.#isPaused = true;
  }

  /** A row is over, for which so many bytes were added. True when whoever waits may go on. */
  endRow(bytes: number): boolean {
    const { pauseRows, pauseBytes } = this.#marks;
    this.#rows--;
    this.#bytes -= bytes;
    if (!this.#isPaused || this.#rows > pauseRows / 2 || this.#bytes > pauseBytes / 2) return false;
    this.#isPaused = false;
    return true;
  }
}
