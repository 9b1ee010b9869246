import { describe, expect, it } from 'vitest';
import { MessageBudget } from '../../../../src/frontends/grpc/transport/message-budget.ts';
import { MessageReader } from '../../../../src/frontends/grpc/transport/message-reader.ts';
import { InferError } from '../../../../src/streams/inference/error.ts';
import { framed } from '../support/raw-client.ts';

const mebibyte = 2 ** 20;

/** What says that a message of so many bytes follows. */
const prefixOf = (length: number, flag = 0): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return prefix;
};

const thrownBy = (reader: MessageReader): unknown => {
  try {
    return reader.next();
  } catch (error) {
    return error;
  }
};

describe('a limit', () => {
  it('is the length of the longest message that is taken', () => {
    const reader = new MessageReader(10, new MessageBudget());
    reader.push(framed(Buffer.alloc(10, 1)));
    expect(reader.next()?.bytes).toEqual(Buffer.alloc(10, 1));
    reader.push(framed(Buffer.alloc(11)));
    expect(thrownBy(reader)).toEqual(new InferError('RESOURCE_EXHAUSTED', 'Received message larger than max (11 vs. 10)'));
  });

  it('is seen by the prefix alone, up to the longest that one can name', () => {
    const reader = new MessageReader(2 ** 31 - 1, new MessageBudget());
    const prefix = prefixOf(2 ** 32 - 1);
    reader.push(prefix.subarray(0, 4));
    expect(reader.next()).toBeUndefined();
    reader.push(prefix.subarray(4));
    expect(thrownBy(reader)).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: 'Received message larger than max (4294967295 vs. 2147483647)',
    });
  });
});

it.each([2, 3, 128, 255])('takes bytes for no message that begin with %i', (flag) => {
  const reader = new MessageReader(10, new MessageBudget());
  reader.push(framed(Buffer.alloc(3), flag));
  expect(thrownBy(reader)).toEqual(
    new InferError('INTERNAL', `Received message with the compressed flag ${flag}, which is neither 0 nor 1`),
  );
});

describe('the memory of a message', () => {
  it('is at most 4 MiB on the word of its prefix', () => {
    const reader = new MessageReader(2 ** 31 - 1, new MessageBudget());
    const before = process.memoryUsage().arrayBuffers;
    reader.push(prefixOf(2 ** 30));
    reader.next();
    reader.push(Buffer.alloc(1000));
    reader.next();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThanOrEqual(4 * mebibyte + 64 * 1024);
    expect(reader.isWithinMessage).toBe(true);
  });

  it('grows with what comes, and is as long as the message in the end', () => {
    const reader = new MessageReader(2 ** 31 - 1, new MessageBudget());
    const message = Buffer.alloc(13 * mebibyte + 1);
    for (let at = 0; at < message.length; at += 4096) message.writeUInt32LE(at, Math.min(at, message.length - 4));
    const bytes = Buffer.concat([framed(message), framed(Buffer.of(7))]);
    for (let at = 0; at < bytes.length; at += 777_777) {
      reader.push(bytes.subarray(at, at + 777_777));
      if (at + 777_777 < message.length) expect(reader.next()).toBeUndefined();
    }
    const read = reader.next()?.bytes ?? Buffer.alloc(0);
    expect(Buffer.compare(read, message)).toBe(0);
    expect(read.buffer.byteLength).toBe(message.length);
    expect(reader.next()?.bytes).toEqual(Buffer.of(7));
  });

  it('is not that of the large chunk which a small one came in', () => {
    const reader = new MessageReader(mebibyte, new MessageBudget());
    const small = [100, 0, 5000, 1].map((length) => Buffer.alloc(length, length));
    reader.push(Buffer.concat([...small, Buffer.alloc(mebibyte - 7000)].map((message) => framed(message))));
    for (const message of small) {
      const bytes = reader.next()?.bytes;
      expect(bytes).toEqual(message);
      expect(bytes?.buffer.byteLength).toBeLessThanOrEqual(Math.max(2 * message.length, Buffer.poolSize));
    }
    expect(reader.next()?.bytes.length).toBe(mebibyte - 7000);
  });

  it('is that of its chunk where it fills most of it: it is not copied', () => {
    const reader = new MessageReader(mebibyte, new MessageBudget());
    const chunk = Buffer.concat([framed(Buffer.alloc(100_000, 1)), Buffer.alloc(3)]);
    reader.push(chunk);
    expect(reader.next()?.bytes.buffer).toBe(chunk.buffer);
  });
});

it('forgets a chunk that is read to its end', () => {
  const reader = new MessageReader(mebibyte, new MessageBudget());
  reader.push(framed(Buffer.alloc(10)));
  reader.next();
  expect([reader.isWithinMessage, reader.next()]).toEqual([false, undefined]);
});
