import { hash } from 'node:crypto';
import type { CacheKey } from '../../streams/inference/response-cache.ts';
import { concatInto } from '../../streams/tensors/concat.ts';
import type { Tensor } from '../../streams/tensors/tensor.ts';

/** The key of a request, whose tensors it reads wherever they lie: it must not outlive them. */
export class RequestKey implements CacheKey {
  readonly digest: string;
  readonly hash: number;
  readonly head: string;
  readonly inputBytes: number;
  readonly #tensors: readonly Tensor[];

  constructor(head: string, tensors: readonly Tensor[], inputBytes: number) {
    this.head = head;
    this.inputBytes = inputBytes;
    this.#tensors = tensors;
    this.digest = digestOf(head, tensors, inputBytes);
    this.hash = Number.parseInt(this.digest.slice(0, 8), 16);
  }

  copyInputs(): Buffer {
    const inputs = Buffer.allocUnsafeSlow(this.inputBytes);
    concatInto(inputs, 0, this.#tensors);
    return inputs;
  }

  equals(head: string, inputs: Buffer): boolean {
    if (head !== this.head || inputs.byteLength !== this.inputBytes) return false;
    let at = 0;
    for (const { buffer, start, end } of this.#tensors) {
      const next = at + end - start;
      if (inputs.compare(buffer, start, end, at, next) !== 0) return false;
      at = next;
    }
    return true;
  }

  /** Whether another request asks the same: equal heads have tensors of equal sizes. */
  matches(other: RequestKey): boolean {
    if (other.digest !== this.digest || other.head !== this.head) return false;
    return this.#tensors.every((tensor, index) => {
      const same = other.#tensors[index];
      return same !== undefined && Buffer.compare(tensor.bytes, same.bytes) === 0;
    });
  }
}

/** One piece is hashed several times as fast as many. It lies here for that long only. */
let scratch = Buffer.allocUnsafeSlow(64 * 1024);

const digestOf = (head: string, tensors: readonly Tensor[], inputBytes: number): string => {
  // A character of a string takes three bytes at most.
  const mostBytes = 3 * head.length + inputBytes;
  if (mostBytes > scratch.byteLength) scratch = Buffer.allocUnsafeSlow(mostBytes);
  const headEnd = scratch.write(head, 0, 'utf8');
  return hash('sha256', scratch.subarray(0, concatInto(scratch, headEnd, tensors)), 'hex');
};
