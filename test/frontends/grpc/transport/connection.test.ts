import { once } from 'node:events';
import { constants } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { callWindowBytes, connectionWindowBytes, frameBytes } from '../../../../src/frontends/grpc/transport/connection.ts';
import { until } from '../../../support/until.ts';
import { encode, messageType } from '../support/client.ts';
import { HeldModel, TestDataPlane, variableSpec } from '../support/data-plane.ts';
import { DeafClient } from '../support/deaf-client.ts';
import { nothingIsLeft } from '../support/nothing-left.ts';
import { framed, type RawCall, RawClient } from '../support/raw-client.ts';
import { type Serving, serve } from '../support/serving.ts';

const service = '/inference.GRPCInferenceService';

let held: HeldModel;
let dataPlane: TestDataPlane;
let serving: Serving;
let client: RawClient;

const start = async (fields: Parameters<typeof serve>[1]): Promise<void> => {
  serving = await serve(dataPlane, { keepaliveTimeMs: Number.MAX_SAFE_INTEGER, ...fields });
  client = new RawClient(serving.server.port);
};

// Time passes when the test says so, sockets work as ever.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  held = new HeldModel();
  dataPlane = new TestDataPlane().add(variableSpec('held'), held.infer);
});

// Whatever a connection did, no timer of it is left.
afterEach(async () => {
  client.cut();
  await serving.stop();
  await nothingIsLeft(dataPlane, serving);
  await until(() => vi.getTimerCount() === 0);
  vi.useRealTimers();
});

const ask = (name: string, message: Buffer = Buffer.alloc(0)): RawCall => {
  const call = client.call(`${service}/${name}`);
  void call.sendBytes(framed(message));
  call.halfClose();
  return call;
};

/** There and back: what was sent before has been heard. */
const roundTrip = async (): Promise<void> => {
  expect(await ask('ServerLive').closed).toMatchObject({ code: '0' });
};

const askHeld = async (): Promise<RawCall> => {
  const inputs = [{ name: 'IN', datatype: 'UINT8', shape: [1] }];
  const call = ask(
    'ModelInfer',
    encode(messageType('inference.ModelInferRequest'), { model_name: 'held', inputs, raw_input_contents: [Buffer.of(1)] }),
  );
  await held.holds(1);
  return call;
};

it('says with its start how much a client may send ahead, how long a frame may be and how many calls may be open', async () => {
  await start({});
  await roundTrip();
  expect(client.session.remoteSettings).toMatchObject({
    initialWindowSize: callWindowBytes,
    maxFrameSize: frameBytes,
    maxConcurrentStreams: 65_536,
  });
  expect(client.session.state.remoteWindowSize).toBeGreaterThan(connectionWindowBytes - 1024);
});

describe('a silent client', () => {
  it('is pinged, and one that is heard is not', async () => {
    await start({ keepaliveTimeMs: 1000, keepaliveTimeoutMs: 500 });
    let pings = 0;
    client.session.on('ping', () => pings++);
    for (let second = 0; second < 10; second++) {
      await roundTrip();
      vi.advanceTimersByTime(1000);
    }
    await roundTrip();
    expect(pings).toBe(0);
    const pinged = once(client.session, 'ping');
    // At the end of the first second it has been heard in it.
    vi.advanceTimersByTime(1000);
    vi.advanceTimersByTime(1000);
    await pinged;
    expect(pings).toBe(1);
  });

  it('lives on when it has answered', async () => {
    await start({ keepaliveTimeMs: 1000, keepaliveTimeoutMs: 500 });
    await roundTrip();
    for (let minute = 0; minute < 5; minute++) {
      vi.advanceTimersByTime(1000);
      const pinged = once(client.session, 'ping');
      vi.advanceTimersByTime(1000);
      await pinged;
      await roundTrip();
      vi.advanceTimersByTime(500);
      vi.advanceTimersByTime(500);
      await roundTrip();
    }
  });

  it('is cut when it has not, its calls are over, and others live on', async () => {
    await start({ keepaliveTimeMs: 1000, keepaliveTimeoutMs: 500 });
    const deaf = await DeafClient.open(serving.server.port, 'default');
    deaf.call(`${service}/ModelStreamInfer`);
    await until(() => serving.server.counters().calls === 1);
    for (let half = 0; half < 8 && serving.server.counters().calls > 0; half++) {
      vi.advanceTimersByTime(500);
      await roundTrip();
    }
    await until(() => serving.server.counters().calls === 0);
    await roundTrip();
    deaf.close();
  });
});

describe('the age of a connection', () => {
  /** With a tenth more or less. */
  const ageMs = 10_000;

  const grow = async (): Promise<void> => {
    const told = once(client.session, 'goaway');
    vi.advanceTimersByTime(0.2 * ageMs + 2);
    const [code, last, reason] = await told;
    expect([code, last, String(reason)]).toEqual([constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1, 'max_age']);
  };

  it('ends it where it has no calls, not before', async () => {
    await start({ maxConnectionAgeMs: ageMs });
    await roundTrip();
    vi.advanceTimersByTime(0.9 * ageMs - 1);
    await roundTrip();
    const closed = once(client.session, 'close');
    await grow();
    await closed;
  });

  it('lets its calls end, however long they take, without a grace', async () => {
    await start({ maxConnectionAgeMs: ageMs });
    const call = await askHeld();
    vi.advanceTimersByTime(0.9 * ageMs - 1);
    const closed = once(client.session, 'close');
    await grow();
    vi.advanceTimersByTime(1000 * ageMs);
    held.at(0).finish();
    expect(await call.closed).toMatchObject({ code: '0', resetCode: 0 });
    await closed;
  });

  it('cuts the calls that last longer than their grace', async () => {
    await start({ maxConnectionAgeMs: ageMs, maxConnectionAgeGraceMs: 3 * ageMs });
    const call = await askHeld();
    vi.advanceTimersByTime(0.9 * ageMs - 1);
    await grow();
    // As long after the latest age as after the earliest.
    vi.advanceTimersByTime(2.8 * ageMs - 2);
    expect(held.cancelled).toBe(0);
    vi.advanceTimersByTime(0.2 * ageMs + 2);
    await held.holds(0);
    expect(held.cancelled).toBe(1);
    expect(await call.closed).toMatchObject({ code: undefined });
  });

  it('lets a call end within its grace', async () => {
    await start({ maxConnectionAgeMs: ageMs, maxConnectionAgeGraceMs: 3 * ageMs });
    const call = await askHeld();
    vi.advanceTimersByTime(0.9 * ageMs - 1);
    const closed = once(client.session, 'close');
    await grow();
    vi.advanceTimersByTime(2.8 * ageMs - 2);
    held.at(0).finish();
    expect(await call.closed).toMatchObject({ code: '0', resetCode: 0 });
    await closed;
  });

  it('is over with the connection', async () => {
    await start({ maxConnectionAgeMs: ageMs, maxConnectionAgeGraceMs: ageMs });
    await roundTrip();
    const closed = once(client.session, 'close');
    client.cut();
    await closed;
    await until(() => vi.getTimerCount() === 0);
  });
});
