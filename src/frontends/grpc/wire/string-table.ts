import { isUtf8 } from 'node:buffer';
import { MalformedMessage } from './wire-reader.ts';

interface Entry {
  readonly bytes: Buffer;
  readonly text: string;
}

const slotCount = 1024;
const longestKept = 64;

const sameBytes = (bytes: Buffer, start: number, kept: Buffer): boolean => {
  for (let index = 0; index < kept.length; index++) if (bytes[start + index] !== kept[index]) return false;
  return true;
};

/**
 * Turns ranges of bytes into strings, and remembers those that come again and again (names of models and tensors, datatypes, keys), so that a
 * message need not make new ones. It holds 1,024 strings of at most 64 bytes; a newer one takes the place of an older.
 */
export class StringTable {
  readonly #slots: (Entry | undefined)[] = new Array<Entry | undefined>(slotCount).fill(undefined);

  /** For strings that come again. @throws MalformedMessage when it is no UTF-8 */
  recurring(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > longestKept) return decode(bytes, start, end);
    const slot = slotOf(bytes, start, end);
    const kept = this.#slots[slot];
    if (kept !== undefined && kept.bytes.length === length && sameBytes(bytes, start, kept.bytes)) return kept.text;
    const text = decode(bytes, start, end);
    // A copy: a view would keep the whole message.
    this.#slots[slot] = { bytes: Buffer.from(bytes.subarray(start, end)), text };
    return text;
  }

  /** For strings that are most likely new, as ids are. @throws MalformedMessage when it is no UTF-8 */
  single(bytes: Buffer, start: number, end: number): string {
    return start === end ? '' : decode(bytes, start, end);
  }
}

const slotOf = (bytes: Buffer, start: number, end: number): number => {
  let hash = end - start;
  for (let index = start; index < end; index++) hash = (Math.imul(hash, 31) + (bytes[index] as number)) | 0;
  return (hash ^ (hash >>> 10)) & (slotCount - 1);
};

const decode = (bytes: Buffer, start: number, end: number): string => {
  for (let index = start; index < end; index++) {
    if ((bytes[index] as number) < 0x80) continue;
    if (!isUtf8(bytes.subarray(start, end))) throw new MalformedMessage('a string that is no UTF-8');
    return bytes.toString('utf8', start, end);
  }
  return bytes.toString('latin1', start, end);
};
