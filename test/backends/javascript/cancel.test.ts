import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../src/streams/inference/backend.ts';
import { inferRequest } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import { floats, floatsOf, makeBatch, runOf, workbench } from './workbench.ts';

const { log, openModel } = workbench();

const batchOf = (...values: readonly number[]) => makeBatch(values.map((value) => inferRequest({ IN: floatsOf([value]) })));

const echo = 'requests.map((request) => ({ outputs: { OUT: request.input("IN") } }))';

/** Runs a batch of these values; resolves when its model has said so. */
const begin = async (instance: Instance, ...values: readonly number[]) => {
  const batch = batchOf(...values);
  const run = runOf(instance, batch);
  await until(() => log.lines.length === 1);
  return { batch, run };
};

describe('a caller that goes', () => {
  it('aborts the signal of its request, and no other', async () => {
    const { instance } = await openModel(`export default defineModel({ async execute(requests) {
      console.log('begun');
      await new Promise((resolve) => requests[1].signal.addEventListener('abort', resolve));
      console.log(requests.map((request) => request.isCancelled + ' ' + request.signal.aborted).join(), requests[1].signal.reason.code);
      return ${echo};
    } });`);
    const { batch, run } = await begin(instance, 1, 2);
    batch.onCancelled?.(1);
    expect(await run).toEqual(['0 OUT [1,1]: 1', '1 OUT [1,1]: 2']);
    expect(log.lines).toEqual(['info m_0: begun', 'info m_0: false false,true true CANCELLED']);
    expect(batch.onCancelled).toBe(undefined);
  });

  it('is seen in the middle of a loop', async () => {
    const { instance } = await openModel(`export default defineModel({ execute(requests) {
      console.log('begun');
      while (!requests[0].isCancelled);
      return ${echo};
    } });`);
    const { batch, run } = await begin(instance, 1);
    batch.onCancelled?.(0);
    expect(await run).toEqual(['0 OUT [1,1]: 1']);
  });

  it('aborts the signal only after a turn of the event loop, so that who listens from the start misses nothing', async () => {
    const { instance } = await openModel(`export default defineModel({ async execute(requests) {
      const [{ signal }, other] = requests;
      console.log('begun');
      while (!requests[0].isCancelled || !other.isCancelled);
      console.log([signal.aborted, other.signal.aborted].join());
      await Promise.all([signal, other.signal].map((each) => new Promise((resolve) => each.addEventListener('abort', resolve))));
      console.log([signal.aborted, other.signal.aborted].join());
      return ${echo};
    } });`);
    const { batch, run } = await begin(instance, 1, 2);
    batch.onCancelled?.(0);
    batch.onCancelled?.(1);
    expect(await run).toEqual(['0 OUT [1,1]: 1', '1 OUT [1,1]: 2']);
    expect(log.lines).toEqual(['begun', 'false,false', 'true,true'].map((line) => `info m_0: ${line}`));
  });

  it('has aborted the signal for who looks at it later', async () => {
    const { instance } = await openModel(`export default defineModel({ async execute(requests) {
      console.log('begun');
      await new Promise((resolve) => requests[1].signal.addEventListener('abort', resolve));
      console.log(requests[0].signal.aborted);
      return ${echo};
    } });`);
    const { batch, run } = await begin(instance, 1, 2);
    batch.onCancelled?.(0);
    batch.onCancelled?.(1);
    await run;
    expect(log.lines).toEqual(['info m_0: begun', 'info m_0: true']);
  });

  it('is seen when it went before the batch began', async () => {
    const { instance } = await openModel(`export default defineModel({ async execute(requests) {
      console.log(requests.map(({ isCancelled, signal }) => isCancelled && signal.aborted).join());
      await new Promise((resolve) => setTimeout(resolve, 5));
      return ${echo};
    } });`);
    const batches = [batchOf(1), batchOf(2, 3)];
    const runs = batches.map((batch) => runOf(instance, batch));
    batches[1]?.onCancelled?.(0);
    expect(await Promise.all(runs)).toEqual([['0 OUT [1,1]: 1'], ['0 OUT [1,1]: 2', '1 OUT [1,1]: 3']]);
    expect(log.lines).toEqual(['info m_0: false', 'info m_0: true,false']);
  });

  it('makes room: a batch that nobody waits for is not begun, one that runs is told, and what waits for a slot follows', async () => {
    const { instance } = await openModel(
      `export default defineModel({ async execute(requests) {
        console.log('begun', requests[0].input('IN').data[0]);
        await new Promise((resolve) => requests[0].signal.addEventListener('abort', resolve, { once: true }));
        await new Promise((resolve) => setTimeout(resolve, 10));
        return ${echo};
      } });`,
      {},
    );
    const serial = await openModel(
      `export default defineModel({ async execute(requests) {
        const value = requests[0].input('IN').data[0];
        console.log('serial', value);
        while (value === 1 && !requests[0].isCancelled) await new Promise(setImmediate);
        return ${echo};
      } });`,
      { name: 'm_1', spec: { ...floats, parameters: new Map([['concurrency', '1']]) } },
    );
    const silent: string[] = [];
    const running = instance.run(batchOf(1)).subscribe({ next: () => silent.push('next'), complete: () => silent.push('complete') });
    await until(() => log.lines.length === 1);
    running.unsubscribe();
    const first = serial.instance.run(batchOf(1)).subscribe();
    await until(() => log.lines.length === 2);
    // Two more slots: one whose batch is never begun, and one that runs after the first.
    serial.instance.run(batchOf(2)).subscribe().unsubscribe();
    const third = runOf(serial.instance, batchOf(3));
    const fourth = runOf(serial.instance, batchOf(4));
    const fifth = runOf(serial.instance, batchOf(5));
    expect(await runOf(serial.instance, batchOf(6))).toEqual(["UNAVAILABLE: model instance 'm_1' has no room for another batch"]);
    first.unsubscribe();
    expect(await Promise.all([third, fourth, fifth])).toEqual([['0 OUT [1,1]: 3'], ['0 OUT [1,1]: 4'], ['0 OUT [1,1]: 5']]);
    expect([log.lines.filter((line) => line.includes('serial')), silent]).toEqual([
      [1, 3, 4, 5].map((value) => `info m_1: serial ${value}`),
      [],
    ]);
  });
});

describe('an asynchronous model', () => {
  it('has executions that overlap, and says when it can take another batch', async () => {
    const { instance } = await openModel(`let now = 0;
    export default defineModel({ async execute(requests) {
      const seen = ++now;
      // The first two are over when the third has begun.
      while (now < 3) await new Promise(setImmediate);
      return requests.map(() => ({ outputs: { OUT: { shape: [1, 1], data: [seen] } } }));
    } });`);
    let released = 0;
    const runs = [1, 2].map((value) => runOf(instance, { ...batchOf(value), releaseInstance: () => released++ }));
    await until(() => released === 2);
    const third = runOf(instance, batchOf(3));
    expect([...(await Promise.all(runs)), await third].flat()).toEqual(['0 OUT [1,1]: 1', '0 OUT [1,1]: 2', '0 OUT [1,1]: 3']);
  });

  it('has one after the other where it wants it so', async () => {
    const { instance } = await openModel(
      `let now = 0;
      export default defineModel({ async execute(requests) {
        const seen = ++now;
        await new Promise((resolve) => setTimeout(resolve, 20));
        now--;
        return requests.map(() => ({ outputs: { OUT: { shape: [1, 1], data: [seen] } } }));
      } });`,
      { spec: { ...floats, parameters: new Map([['concurrency', '1']]) } },
    );
    let released = 0;
    const runs = [1, 2, 3].map((value) => runOf(instance, { ...batchOf(value), releaseInstance: () => released++ }));
    expect((await Promise.all(runs)).flat()).toEqual(['0 OUT [1,1]: 1', '0 OUT [1,1]: 1', '0 OUT [1,1]: 1']);
    expect(released).toBe(0);
  });

  it('that awaits nothing outside it is not released', async () => {
    const { instance } = await openModel(`export default defineModel({ async execute(requests) { await 0; return ${echo}; } });`);
    let released = 0;
    expect(await runOf(instance, { ...batchOf(1), releaseInstance: () => released++ })).toEqual(['0 OUT [1,1]: 1']);
    expect(released).toBe(0);
  });
});
