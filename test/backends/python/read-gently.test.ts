import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { readGently } from '../../../src/backends/python/read-gently.ts';
import { until } from '../../support/until.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

/** A pipe whose pieces take as long to read as they have bytes, in milliseconds. */
const slowPipe = () => {
  const time = new VirtualTime();
  const stream = new PassThrough();
  const read: string[] = [];
  const take = (chunk: Buffer): void => {
    time.frame += chunk.byteLength;
    read.push(chunk.toString());
  };
  return { time, stream, read, readRest: readGently(stream, take, time) };
};

it('rests nine times as long as it took to read a piece', async () => {
  const { time, stream, read } = slowPipe();
  stream.write('ab');
  await until(() => read.length === 1);
  stream.write('c');
  time.advance(17);
  expect(stream.isPaused()).toBe(true);
  time.advance(1);
  await until(() => read.length === 2);
  expect(read).toEqual(['ab', 'c']);
});

it('rests a second at most, and not for what takes no time', async () => {
  const { time, stream, read } = slowPipe();
  stream.write('x'.repeat(5000));
  await until(() => read.length === 1);
  time.advance(1000);
  expect(stream.isPaused()).toBe(false);
  const idle = new PassThrough();
  readGently(idle, (chunk) => read.push(chunk.toString()), time);
  idle.write('quick');
  await until(() => read.length === 2);
  expect(idle.isPaused()).toBe(false);
});

it('reads the rest without pause, to the end', async () => {
  const { stream, read, readRest } = slowPipe();
  stream.write('abc');
  await until(() => read.length === 1);
  const ended = once(stream, 'end');
  readRest();
  stream.write('def');
  await until(() => read.length === 2);
  stream.end('ghi');
  await ended;
  expect(read).toEqual(['abc', 'def', 'ghi']);
});
