import { setTimeout as sleep } from 'node:timers/promises';
import { coreBusyMs, processCpuMs } from '../measure/cpu-time.ts';
import { ClosedLoop } from './closed-loop.ts';
import type { Load, LoadResult } from './load.ts';
import { messagesOf, openConnections } from './open-connections.ts';

/** How long answers may take after the end. */
const patienceMs = 10_000;

const percentile = (ascending: Float32Array, part: number): number =>
  ascending[Math.min(ascending.length - 1, Math.ceil(part * ascending.length) - 1)] ?? 0;

const ownCpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

interface Reading {
  readonly atMs: number;
  readonly serverMs: number;
  readonly coreMs: number;
  readonly ownMs: number;
}

const read = ({ serverPid, serverCore }: Load): Reading => ({
  atMs: performance.now(),
  serverMs: processCpuMs(serverPid),
  coreMs: serverCore < 0 ? 0 : coreBusyMs(serverCore),
  ownMs: ownCpuMs(),
});

/** Loads a server in a closed loop and measures. Rejects when a connection cannot be had; what goes wrong later is in the result. */
export const runLoad = async (load: Load): Promise<LoadResult> => {
  const messages = messagesOf(load);
  const loop = new ClosedLoop({ slots: messages.requests.length, faultOf: messages.faultOf });
  const connectionOf = await openConnections(load, messages, loop);
  loop.start(connectionOf);
  await sleep(load.warmUpMs);
  loop.measure();
  const before = read(load);
  await sleep(load.measureMs);
  const after = read(load);
  const latencies = loop.measured();
  await loop.stop(patienceMs);
  for (const connection of new Set(connectionOf)) connection.close();
  const elapsedMs = after.atMs - before.atMs;
  const serverMs = after.serverMs - before.serverMs;
  const coreMs = after.coreMs - before.coreMs;
  return {
    answered: latencies.length,
    failed: loop.failed,
    hung: loop.inFlight,
    fault: loop.fault,
    seconds: elapsedMs / 1000,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    serverCpuUs: (serverMs * 1000) / Math.max(1, latencies.length),
    generatorShare: (after.ownMs - before.ownMs) / elapsedMs,
    otherShare: load.serverCore < 0 ? 0 : Math.max(0, coreMs - serverMs) / elapsedMs,
  };
};
