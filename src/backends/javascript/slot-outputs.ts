import type { Tensor } from '../../streams/tensors/tensor.ts';
import { GrowingMemory } from '../workers/growing-memory.ts';
import { alignUp } from './align-up.ts';
import { areas } from './batch-layout.ts';
import type { FromWorker } from './worker-protocol.ts';

const firstWords = 512;

/** Where bytes lie. */
export interface Place {
  area: number;
  start: number;
}

/** The worker's side of a slot's outputs: words that tell of answers, and the bytes of these. */
export class SlotOutputs {
  readonly #slot: number;
  readonly #post: (message: FromWorker) => void;
  #memory = new GrowingMemory();
  /** Memories that were added because the first was too small; the next batch finds it large enough. */
  readonly #more: Buffer<SharedArrayBuffer>[] = [];
  #current: Buffer<SharedArrayBuffer>;
  #end = 0;
  /** Bytes in the memories before the current one. */
  #before = 0;
  words = new Float64Array(new SharedArrayBuffer(8 * firstWords));

  constructor(slot: number, post: (message: FromWorker) => void) {
    this.#slot = slot;
    this.#post = post;
    this.#current = this.#memory.buffer;
    this.#announce(areas.words, this.words.buffer);
    this.#announce(areas.outputs, this.#memory.shared);
  }

  /** Bytes that are taken. */
  get size(): number {
    return this.#before + this.#end;
  }

  /** Everything may be overwritten: the main thread has read it. */
  reset(): void {
    if (this.#memory.fit(this.size)) this.#announce(areas.outputs, this.#memory.shared);
    this.#begin();
  }

  /** What was taken is left to the model, which may write to it at any time; what is taken from now on lies elsewhere. */
  leave(): void {
    if (this.size === 0) return;
    this.#memory = new GrowingMemory();
    this.#announce(areas.outputs, this.#memory.shared);
    this.#begin();
  }

  /** Room for so many bytes, wherever a typed array can stand. */
  take(byteLength: number): Buffer<SharedArrayBuffer> {
    const start = alignUp(this.#end);
    if (start + byteLength <= this.#current.byteLength) {
      this.#end = start + byteLength;
    } else {
      const more = Buffer.from(new SharedArrayBuffer(Math.max(byteLength, 2 * this.#current.byteLength)));
      this.#before += this.#end;
      this.#current = more;
      this.#more.push(this.#current);
      this.#announce(areas.outputs + this.#more.length, this.#current.buffer);
      this.#end = byteLength;
    }
    return this.#current;
  }

  /** Where the last `byteLength` bytes that were taken begin. */
  lastTaken(byteLength: number): Place {
    return { area: areas.outputs + this.#more.length, start: this.#end - byteLength };
  }

  copy({ buffer, start, end }: Tensor): Place {
    const target = this.take(end - start);
    const place = this.lastTaken(end - start);
    Buffer.prototype.copy.call(buffer, target, place.start, start, end);
    return place;
  }

  /** Where a tensor lies if it does so in memory that the main thread sees. */
  find({ buffer, start }: Tensor, inputs: ArrayBufferLike): Place | undefined {
    const memory = buffer.buffer;
    if (memory === inputs) return { area: areas.inputs, start: buffer.byteOffset + start };
    if (memory === this.#memory.shared) return { area: areas.outputs, start: buffer.byteOffset + start };
    const more = this.#more.findIndex((each) => each.buffer === memory);
    return more === -1 ? undefined : { area: areas.outputs + 1 + more, start: buffer.byteOffset + start };
  }

  /** Makes room for words up to `end`; what is written stays. */
  makeRoom(end: number): void {
    if (end <= this.words.length) return;
    const larger = new Float64Array(new SharedArrayBuffer(8 * 2 ** Math.ceil(Math.log2(end))));
    larger.set(this.words);
    this.words = larger;
    this.#announce(areas.words, larger.buffer);
  }

  #begin(): void {
    this.#more.length = 0;
    this.#current = this.#memory.buffer;
    this.#before = 0;
    this.#end = 0;
  }

  #announce(area: number, memory: SharedArrayBuffer): void {
    this.#post({ kind: 'outputs', slot: this.#slot, area, memory });
  }
}
