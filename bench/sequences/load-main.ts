import { setTimeout as sleep } from 'node:timers/promises';
import type { AnswerSink } from '../load/connection.ts';
import { openConnections } from '../load/open-connections.ts';
import type { RealTime, RealTimeResult } from './real-time.ts';
import { RealTimeLoop } from './real-time-loop.ts';
import { connectionsOf, sequenceMessages } from './sequence-messages.ts';

const patienceMs = 3_000;

const percentile = (ascending: readonly number[], part: number): number =>
  ascending[Math.min(ascending.length - 1, Math.ceil(part * ascending.length) - 1)] ?? Number.POSITIVE_INFINITY;

const run = async (load: RealTime): Promise<RealTimeResult> => {
  const messages = sequenceMessages(load);
  let loop: RealTimeLoop | undefined;
  // Connections are there before the loop is.
  const sink: AnswerSink = {
    isSampled: (slot) => loop?.isSampled(slot) ?? false,
    onAnswer: (slot, bytes, start, end) => loop?.onAnswer(slot, bytes, start, end),
    onFault: (slot, what) => loop?.onFault(slot, what),
    onLost: (what) => loop?.onLost(what),
  };
  const open = await openConnections(connectionsOf(load), messages, sink);
  loop = new RealTimeLoop(load.streams, messages.faultOf, open);
  loop.start();
  await sleep(load.warmUpMs);
  loop.measure();
  await sleep(load.measureMs);
  loop.stop();
  const untilMs = performance.now() + patienceMs;
  while (loop.inFlight > 0 && performance.now() < untilMs) await sleep(20);
  for (const connection of new Set(open)) connection.close();
  const latencies = loop.latencies.toSorted((a, b) => a - b);
  return {
    answered: latencies.length,
    missing: loop.inFlight,
    fault: loop.fault,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    lateMs: percentile(
      loop.lateness.toSorted((a, b) => a - b),
      0.99,
    ),
  };
};

// One load in a process of its own: `node bench/sequences/load-main.ts LOAD`, where LOAD is a `RealTime` as JSON; prints a `RealTimeResult` as JSON.
console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? ''))));
