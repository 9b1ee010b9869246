import { InferError } from '../../streams/inference/error.ts';
import { Arena, type Block } from './arena.ts';
import { type Frame, fromProcess, toProcess } from './frames.ts';
import { noFields, type PythonProcess } from './python-process.ts';
import type { PythonSettings } from './python-settings.ts';
import { createSharedMemory, openSharedMemory, type SharedMemory } from './shared-memory.ts';

/** Blocks that have been read wait to be told of with the next message, up to so many, and so many bytes. */
const longestWait = 16;
const largestWaitBytes = 2 ** 20;

export interface ProcessMemoryConfig {
  readonly settings: PythonSettings;
  /** Names of this process's memory. */
  readonly prefix: string;
  readonly process: () => PythonProcess;
}

/** All that server and process share: blocks that the server lends to the process, and those that it reads. */
export class ProcessMemory {
  readonly arena: Arena;
  readonly #config: ProcessMemoryConfig;
  readonly #theirs: (SharedMemory | undefined)[] = [];
  /** Blocks of the process that have been read. */
  readonly #read: number[] = [];
  #readBytes = 0;
  #made = 0;

  constructor(config: ProcessMemoryConfig) {
    this.#config = config;
    const { settings, prefix } = config;
    this.arena = new Arena({
      firstBytes: settings.memoryBytes,
      growthBytes: settings.growthBytes,
      create: (segment, size) => {
        this.#made++;
        const name = `${prefix}s${this.#made}`;
        const memory = createSharedMemory(name, size);
        this.#config.process().sendText(toProcess.segment, 0, name, { segment, offset: size });
        return memory;
      },
      dropped: (segment) => this.#config.process().send({ ...noFields, kind: toProcess.drop, segment }),
    });
  }

  /** Takes a message about memory. False for any other. */
  take({ kind, segment, offset }: Frame, payload: Buffer): boolean {
    switch (kind) {
      case fromProcess.segment:
        this.#theirs[segment]?.release();
        this.#theirs[segment] = openSharedMemory(nameOf(payload, this.#config.prefix), offset);
        return true;
      case fromProcess.drop:
        this.#theirs[segment]?.release();
        this.#theirs[segment] = undefined;
        return true;
      case fromProcess.free:
        return true;
      default:
        return false;
    }
  }

  /** Memory of the process. @throws InferError INTERNAL for a range that it has not */
  theirs({ segment, offset, length }: Frame): Buffer {
    const buffer = this.#theirs[segment]?.buffer;
    if (buffer === undefined || offset + length > buffer.byteLength)
      throw new InferError('INTERNAL', 'a message names memory that is not there');
    return buffer;
  }

  /** This server's memory, by segment, where a tensor may lie still. */
  readonly own = (segment: number): Buffer => {
    const memory = this.arena.memory(segment);
    if (memory === undefined) throw new InferError('INTERNAL', 'a message names memory that is not there');
    return memory.buffer;
  };

  /** A block of the process has been read. */
  hasRead(block: number, bytes: number): void {
    this.#read.push(block);
    this.#readBytes += bytes;
    if (this.#read.length >= longestWait || this.#readBytes >= largestWaitBytes) this.#tell();
  }

  /** A block to name in a message that is sent next; 0 for none. */
  popRead(): number {
    const block = this.#read.pop();
    if (block === undefined) return 0;
    if (this.#read.length > 0) this.#tell();
    this.#readBytes = 0;
    return block;
  }

  lend(kind: number, id: number, { id: block, segment, offset }: Block, length: number, flags = 0): void {
    this.#config.process().send({ kind, flags, segment: segment.id, id, block, freed: this.popRead(), offset, length });
  }

  release(): void {
    this.arena.release();
    for (const memory of this.#theirs) memory?.release();
  }

  #tell(): void {
    for (const freed of this.#read) this.#config.process().send({ ...noFields, kind: toProcess.free, freed });
    this.#read.length = 0;
    this.#readBytes = 0;
  }
}

/** Only a name of the process's own: it is unlinked. */
const nameOf = (payload: Buffer, prefix: string): string => {
  const name = payload.toString();
  if (!name.startsWith(prefix) || name.includes('/')) throw new InferError('INTERNAL', `'${name}' is no memory of this process`);
  return name;
};
