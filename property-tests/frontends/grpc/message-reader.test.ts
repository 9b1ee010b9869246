import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageBudget } from '../../../src/frontends/grpc/transport/message-budget.ts';
import { MessageReader } from '../../../src/frontends/grpc/transport/message-reader.ts';
import { framed } from '../../../test/frontends/grpc/support/raw-client.ts';
import { propertyParameters } from '../../parameters.ts';

interface Sent {
  readonly isCompressed: boolean;
  readonly bytes: Buffer;
}

const longest = 20_000;
/** Messages are parts of it: each byte is another than its neighbours. */
const pattern = Buffer.from(Array.from({ length: longest + 256 }, (_, at) => (7 * at + (at >> 8)) % 256));

const message: fc.Arbitrary<Sent> = fc.record({
  isCompressed: fc.boolean(),
  bytes: fc
    .tuple(fc.oneof(fc.nat(12), fc.nat(300), fc.nat(longest)), fc.nat(255))
    .map(([length, first]) => pattern.subarray(first, first + length)),
});

/** A chunk of so many bytes, and how often the messages are asked for after it. */
const step = fc.record({
  length: fc.oneof(fc.nat(8), fc.nat(400), fc.nat(30_000)),
  reads: fc.oneof(fc.constant(0), fc.nat(3), fc.constant(99)),
});

const inOneBuffer = (sent: readonly Sent[]): Buffer =>
  Buffer.concat(sent.map(({ bytes, isCompressed }) => framed(bytes, Number(isCompressed))));

/** Where messages end in what is sent. */
const endsOf = (sent: readonly Sent[]): readonly number[] => {
  let at = 0;
  return sent.map(({ bytes }) => {
    at += 5 + bytes.length;
    return at;
  });
};

/** Compared as one. */
const asText = ({ isCompressed, bytes }: Sent): string => `${isCompressed} ${bytes.toString('latin1')}`;

const messages = fc.array(message, { maxLength: 12, size: 'max' });
const steps = fc.array(step, { minLength: 1, maxLength: 30, size: 'max' });

describe('messages', () => {
  // Kills: chunks put together with what was read of them, memory used again, a body or a prefix that starts anew with each chunk, a flag or a length of the
  // message before, an empty message that is none.
  it('come out whole, in order and as soon as they are there, however they are cut and whenever they are read', () => {
    const runs = fc.property(messages, steps, (sent, chunks) => {
      const all = inOneBuffer(sent);
      const ends = endsOf(sent);
      const reader = new MessageReader(longest, new MessageBudget());
      const read: Sent[] = [];
      // Of each look that found nothing: bytes that had come, messages read, whether there was a part of one.
      const seen: unknown[] = [];
      const wanted: unknown[] = [];
      const readSome = (most: number, came: number): void => {
        for (let reads = 0; reads < most; reads++) {
          const next = reader.next();
          if (next === undefined) {
            const whole = ends.filter((end) => end <= came);
            seen.push([came, read.length, reader.isWithinMessage]);
            wanted.push([came, whole.length, (whole.at(-1) ?? 0) < came]);
            return;
          }
          read.push(next);
        }
      };
      let at = 0;
      for (let index = 0; at < all.length; index++) {
        const { length = 1, reads = 0 } = chunks[index % chunks.length] ?? {};
        const end = Math.min(all.length, at + Math.max(length, index < chunks.length ? 0 : 1000));
        reader.push(Buffer.from(all.subarray(at, end)));
        at = end;
        readSome(reads, at);
      }
      readSome(Number.POSITIVE_INFINITY, at);
      expect(read.map(asText)).toEqual(sent.map(asText));
      expect(seen).toEqual(wanted);
    });
    fc.assert(runs, propertyParameters());
  });

  // Kills: an end within the prefix or the body that is taken for one between messages, and the other way round.
  it('that are cut by the end are told from those that are whole', () => {
    const runs = fc.property(messages, fc.nat(), (sent, seed) => {
      const all = inOneBuffer(sent);
      const length = seed % (all.length + 1);
      const reader = new MessageReader(longest, new MessageBudget());
      reader.push(all.subarray(0, length));
      let count = 0;
      while (reader.next() !== undefined) count++;
      const ends = endsOf(sent);
      expect(count).toBe(ends.filter((end) => end <= length).length);
      expect(reader.isWithinMessage).toBe(length > 0 && !ends.includes(length));
    });
    fc.assert(runs, propertyParameters());
  });
});
