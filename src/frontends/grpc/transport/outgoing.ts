/**
 * A message on its way out. The transport asks how long it is and then for its bytes, once, at the place in the frame where they belong: so an
 * answer can be written straight out of the model's memory. A Buffer is one, too.
 */
export interface Outgoing {
  readonly byteLength: number;
  /** Writes all of it into `target` from `start` on, and says how many bytes that was. */
  copy(target: Buffer, start: number): number;
}
