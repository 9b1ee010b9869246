/** A collection of the young generation takes half a millisecond; memory of so many bytes is young for a few milliseconds. */
const everyBytes = 24 * 2 ** 20;

/** Nothing but a full collection takes so long. */
const fullMs = 5;

/** How much is made before the next try when V8 made a full collection of it, which it does while it is amid one anyway. */
const restBytes = 256 * 2 ** 20;

/** There with `--expose-gc`, one of the flags that a server gives itself. */
const collect = globalThis.gc;

let leftBytes = collect === undefined ? Number.POSITIVE_INFINITY : everyBytes;

const collectYoung = (): void => {
  const began = performance.now();
  collect?.({ type: 'minor' });
  leftBytes = performance.now() - began < fullMs ? everyBytes : restBytes;
};

/**
 * To be told of memory for messages, in bytes, as it is made. V8 counts the memory of buffers but looks at little more than the objects: for each 64 MiB
 * it makes a full collection, which was half of the processor time at 1 MiB a request, though nearly all of these buffers are dead and their objects so
 * young that a short collection finds them. This asks for that one in time.
 */
export const madeBuffer = (byteLength: number): void => {
  leftBytes -= byteLength;
  if (leftBytes <= 0) collectYoung();
};
