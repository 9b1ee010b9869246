import type { SharedMemory } from './shared-memory.ts';

export interface Segment {
  readonly id: number;
  readonly memory: SharedMemory;
  readonly size: number;
  /** Blocks lie below it, nothing above. */
  end: number;
  /** Blocks that are lent. */
  used: number;
  /** Blocks lent since the last look for segments that nobody needs. */
  takes: number;
}

/** A range of a segment, lent until the other process has read it. */
export class Block {
  readonly id: number;
  readonly segment: Segment;
  readonly offset: number;
  readonly size: number;
  isLent = false;

  constructor(id: number, segment: Segment, offset: number, size: number) {
    this.id = id;
    this.segment = segment;
    this.offset = offset;
    this.size = size;
  }
}

export interface ArenaConfig {
  /** Of the first segment. */
  readonly firstBytes: number;
  /** Sizes of segments are multiples of it. */
  readonly growthBytes: number;
  /** Makes the memory of a segment and tells the other side. @throws InferError when there is none left */
  readonly create: (segment: number, size: number) => SharedMemory;
  readonly dropped: (segment: number) => void;
}

/** Blocks lent between two looks for segments that nobody needs. */
const window = 1024;
const largestStep = 64 * 2 ** 20;
const smallestBlock = 512;

/** The size rounded up, by at most a quarter, so that freed blocks fit others. */
export const sizeClass = (size: number): number => {
  if (size <= smallestBlock) return smallestBlock;
  const step = 2 ** (Math.ceil(Math.log2(size)) - 3);
  return Math.ceil(size / step) * step;
};

/**
 * Shared memory that one side writes and the other reads: blocks in segments. It grows when nothing fits; a segment that was not used for `window` blocks
 * on end is given back, so one large batch does not hold its memory for good. The first one stays.
 */
export class Arena {
  readonly #config: ArenaConfig;
  readonly #segments: Segment[] = [];
  /** By id; undefined where its segment has gone. 0 is no block. */
  readonly #blocks: (Block | undefined)[] = [undefined];
  readonly #unusedIds: number[] = [];
  readonly #free = new Map<number, Block[]>();
  #takes = 0;

  constructor(config: ArenaConfig) {
    this.#config = config;
  }

  /** Bytes of all segments. */
  get sizeBytes(): number {
    return this.#segments.reduce((sum, { size }) => sum + size, 0);
  }

  /** Makes the first segment. @throws InferError when the system has no memory left */
  prepare(): void {
    if (this.#segments.length === 0) this.#make(this.#roundUp(this.#config.firstBytes));
  }

  /** @throws InferError when the system has no memory left */
  take(sizeBytes: number): Block {
    const size = sizeClass(sizeBytes);
    this.#takes++;
    if (this.#takes >= window) this.#dropUnused();
    const block = this.#free.get(size)?.pop() ?? this.#carve(this.#segmentFor(size), size);
    block.isLent = true;
    block.segment.used++;
    block.segment.takes++;
    return block;
  }

  /** Takes a block back. One that is not lent is left alone: the other process may say anything. */
  give(id: number): void {
    const block = this.#blocks[id];
    if (block === undefined || !block.isLent) return;
    block.isLent = false;
    block.segment.used--;
    const free = this.#free.get(block.size);
    if (free === undefined) this.#free.set(block.size, [block]);
    else free.push(block);
  }

  /** The memory of a segment; undefined for one that is not there. */
  memory(segment: number): SharedMemory | undefined {
    return this.#segments.find(({ id }) => id === segment)?.memory;
  }

  release(): void {
    for (const { memory } of this.#segments) memory.release();
    this.#segments.length = 0;
  }

  #segmentFor(size: number): Segment {
    // Always a small one first, which stays: so a large batch is never what everything after it lies beside.
    this.prepare();
    for (const segment of this.#segments) if (segment.size - segment.end >= size) return segment;
    for (const segment of this.#segments) {
      if (segment.used > 0 || segment.size < size) continue;
      this.#forgetBlocks(segment);
      segment.end = 0;
      return segment;
    }
    const generous = this.#roundUp(Math.max(this.#config.firstBytes, size, Math.min(this.sizeBytes, largestStep)));
    const least = this.#roundUp(size);
    if (generous === least) return this.#make(least);
    try {
      return this.#make(generous);
    } catch {
      return this.#make(least);
    }
  }

  #roundUp(size: number): number {
    return Math.ceil(size / this.#config.growthBytes) * this.#config.growthBytes;
  }

  #make(size: number): Segment {
    let id = 0;
    while (this.#segments.some((segment) => segment.id === id)) id++;
    const segment = { id, memory: this.#config.create(id, size), size, end: 0, used: 0, takes: 0 };
    this.#segments.push(segment);
    return segment;
  }

  #carve(segment: Segment, size: number): Block {
    const id = this.#unusedIds.pop() ?? this.#blocks.length;
    const block = new Block(id, segment, segment.end, size);
    this.#blocks[id] = block;
    segment.end += size;
    return block;
  }

  #forgetBlocks(segment: Segment): void {
    for (const [size, free] of this.#free) {
      const left = free.filter((block) => block.segment !== segment);
      for (const block of free) {
        if (block.segment !== segment) continue;
        this.#blocks[block.id] = undefined;
        this.#unusedIds.push(block.id);
      }
      if (left.length > 0) this.#free.set(size, left);
      else this.#free.delete(size);
    }
  }

  #dropUnused(): void {
    this.#takes = 0;
    const unused = this.#segments.filter(({ used, takes }, index) => index > 0 && used === 0 && takes === 0);
    for (const segment of unused) {
      this.#forgetBlocks(segment);
      this.#segments.splice(this.#segments.indexOf(segment), 1);
      segment.memory.release();
      this.#config.dropped(segment.id);
    }
    for (const segment of this.#segments) segment.takes = 0;
  }
}
