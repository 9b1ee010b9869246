import { closeSync, ftruncateSync, openSync, unlinkSync } from 'node:fs';
import koffi from 'koffi';
import { InferError } from '../../streams/inference/error.ts';

const folder = '/dev/shm';

const readAndWrite = 3;
const shared = 1;
/** MAP_PRIVATE, MAP_FIXED, MAP_ANONYMOUS and MAP_NORESERVE. */
const emptyInPlace = 0x02 | 0x10 | 0x20 | 0x4000;

interface SystemCalls {
  readonly mmap: (address: bigint | null, length: number, protection: number, flags: number, fd: number, offset: number) => bigint;
  readonly munmap: (address: bigint, length: number) => number;
  /** The number of the error, 0 for none. */
  readonly allocate: (fd: number, offset: number, length: number) => number;
}

let loaded: SystemCalls | undefined;

/** Loaded with the first Python model: koffi brings a native library along. */
const systemCalls = (): SystemCalls => {
  if (loaded !== undefined) return loaded;
  const library = koffi.load(null);
  loaded = {
    mmap: library.func('void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)'),
    munmap: library.func('int munmap(void *address, size_t length)'),
    allocate: library.func('int posix_fallocate(int fd, int64_t offset, int64_t length)'),
  };
  return loaded;
};

const failed = 0xffff_ffff_ffff_ffffn;

interface Mapping {
  readonly address: bigint;
  readonly length: number;
}

/** Gives address space back once no view of it is left; until then a late reader finds zeros, and not the end of the process. */
const unmapWhenUnseen = new FinalizationRegistry<Mapping>(({ address, length }) => systemCalls().munmap(address, length));

/** Memory that this process and another one have mapped. */
export interface SharedMemory {
  readonly buffer: Buffer;
  /** Gives the memory back to the system. Views of `buffer` read zeros from now on. */
  release(): void;
}

const map = (fd: number, length: number, name: string): SharedMemory => {
  const { mmap } = systemCalls();
  const address = mmap(null, length, readAndWrite, shared, fd, 0);
  if (address === failed) throw new InferError('INTERNAL', `unable to map ${length} bytes of shared memory '${name}'`);
  const bytes = koffi.view(address, length);
  unmapWhenUnseen.register(bytes, { address, length });
  let isReleased = false;
  return {
    buffer: Buffer.from(bytes),
    release: () => {
      if (isReleased) return;
      isReleased = true;
      mmap(address, length, readAndWrite, emptyInPlace, -1, 0);
    },
  };
};

const noSpace = 28;

const allocationError = (length: number, code: number): InferError => {
  const reason = code === noSpace ? `${folder} is full: give it more room (docker run --shm-size)` : `error ${code}`;
  return new InferError('INTERNAL', `unable to get ${length} bytes of shared memory: ${reason}`, { reason: 'BACKEND' });
};

/**
 * Makes memory that another process finds by its name, until either side unlinks that.
 *
 * @throws InferError INTERNAL when the system has none left: a page that it could not give later would end this process
 */
export const createSharedMemory = (name: string, length: number): SharedMemory => {
  const path = `${folder}/${name}`;
  const fd = openSync(path, 'wx+', 0o600);
  try {
    ftruncateSync(fd, length);
    const code = systemCalls().allocate(fd, 0, length);
    if (code !== 0) throw allocationError(length, code);
    return map(fd, length, name);
  } catch (error) {
    unlinkSync(path);
    throw error;
  } finally {
    closeSync(fd);
  }
};

/** Memory that another process has made; its name is gone afterwards. */
export const openSharedMemory = (name: string, length: number): SharedMemory => {
  const path = `${folder}/${name}`;
  const fd = openSync(path, 'r+');
  try {
    unlinkSync(path);
    return map(fd, length, name);
  } finally {
    closeSync(fd);
  }
};
