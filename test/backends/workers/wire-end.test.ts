import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { NumberRing } from '../../../src/backends/workers/number-ring.ts';
import { WireEnd } from '../../../src/backends/workers/wire-end.ts';
import { until } from '../../support/until.ts';

interface Words {
  readonly text: string;
}

describe('NumberRing', () => {
  it('keeps numbers and their counts in order, over many rounds, for both who share its memory', () => {
    const writer = new NumberRing(5);
    const reader = new NumberRing(writer.shared);
    for (let round = 0; round < 100; round++) {
      for (let n = 0; n < 5; n++) writer.write(round + n / 8, round);
      const seen: (readonly [number, number])[] = [];
      while (!reader.isEmpty) seen.push([reader.nextCount, reader.read()]);
      expect(seen).toEqual([0, 1, 2, 3, 4].map((n) => [round, round + n / 8]));
    }
  });

  it('asks one writer to wake a reader that sleeps', () => {
    const ring = new NumberRing(8);
    expect([ring.write(1, 0), ring.write(2, 0)]).toEqual([true, false]);
    ring.sleep();
    expect([ring.write(3, 0), ring.write(4, 0)]).toEqual([true, false]);
    ring.sleep();
    ring.wake();
    expect(ring.write(5, 0)).toBe(false);
  });
});

describe('WireEnd', () => {
  const ports: MessagePort[] = [];
  afterEach(() => {
    for (const port of ports.splice(0)) port.close();
  });

  /** Two ends, what came out at the second, and how often it was woken or sent an object. */
  const makeWire = (wakes: 'at-once' | 'together' = 'at-once') => {
    const [there, back] = [new NumberRing(20_001), new NumberRing(20_001)];
    const { port1, port2 } = new MessageChannel();
    ports.push(port1, port2);
    const heard: (number | string)[] = [];
    let posts = 0;
    const second: WireEnd<Words, Words> = new WireEnd({
      incoming: there,
      outgoing: back,
      post: (message) => port2.postMessage(message),
      wakes: 'at-once',
      onNumber: (value) => {
        heard.push(value);
        second.sendNumber(-value);
      },
      onMessage: ({ text }) => {
        heard.push(text);
        second.send({ text: `re ${text}` });
      },
    });
    const answers: (number | string)[] = [];
    let onAnswer = (_value: number): void => {};
    const first: WireEnd<Words, Words> = new WireEnd({
      incoming: back,
      outgoing: there,
      post: (message) => {
        posts++;
        port1.postMessage(message);
      },
      wakes,
      onNumber: (value) => {
        answers.push(value);
        onAnswer(value);
      },
      onMessage: ({ text }) => answers.push(text),
    });
    port1.on('message', (message) => first.receive(message));
    port2.on('message', (message) => second.receive(message));
    return {
      first,
      heard,
      answers,
      get posts() {
        return posts;
      },
      answerWith: (answer: (value: number) => void) => {
        onAnswer = answer;
      },
    };
  };

  it('brings numbers and objects in the order in which they were sent, both ways', async () => {
    const { first, heard, answers } = makeWire();
    const sent: (number | string)[] = [];
    for (let n = 1; n <= 1000; n++) {
      sent.push(n);
      first.sendNumber(n);
      if (n % 7 !== 0) continue;
      sent.push(`text ${n}`);
      first.send({ text: `text ${n}` });
    }
    await until(() => answers.length === sent.length);
    expect(heard).toEqual(sent);
    expect(answers).toEqual(sent.map((each) => (typeof each === 'number' ? -each : `re ${each}`)));
  });

  it('waits for nothing that could not be sent', async () => {
    const { first, answers } = makeWire();
    const unsendable = { text: 'never', odd: () => 1 };
    expect(() => first.send(unsendable)).toThrow('could not be cloned');
    first.send({ text: 'a' });
    first.sendNumber(1);
    await until(() => answers.length === 2);
    expect(answers).toEqual(['re a', -1]);
  });

  it('wakes the other side once for all that it has not seen', async () => {
    const wire = makeWire();
    for (let n = 1; n <= 500; n++) wire.first.sendNumber(n);
    expect(wire.posts).toBe(1);
    await until(() => wire.answers.length === 500);
    wire.first.sendNumber(501);
    expect(wire.posts).toBe(2);
    await until(() => wire.answers.length === 501);
  });

  it.each(['at-once', 'together'] as const)(
    'loses nothing and lets the event loop turn when each answer brings the next question: %s',
    async (wakes) => {
      const wire = makeWire(wakes);
      let turns = 0;
      let last = 8;
      wire.answerWith(() => {
        if (last < 20_000) wire.first.sendNumber(++last);
      });
      const turn = (): void => {
        turns++;
        if (wire.answers.length < 20_000) setImmediate(turn);
      };
      setImmediate(turn);
      for (let n = 1; n <= 8; n++) wire.first.sendNumber(n);
      await until(() => wire.answers.length === 20_000);
      expect(wire.heard).toEqual(Array.from({ length: 20_000 }, (_, index) => index + 1));
      expect(turns).toBeGreaterThan(20_000 / 64 / 2);
    },
  );
});
