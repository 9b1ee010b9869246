import { describe, expect, it } from 'vitest';
import type { Part } from '../../../src/streams/inference/backend.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import { describePart, floats, floatsOf, makeBatch, runOf, workbench } from './workbench.ts';

const spec = { ...floats, decoupled: true };

const { log, openModel } = workbench();

const batchOf = (...values: readonly number[]) => makeBatch(values.map((value) => inferRequest({ IN: floatsOf([value]) })));

/** Each request's value counted down, one answer each. */
const countdown = `export default defineModel({
  async *execute(requests) {
    for (const request of requests) {
      const count = request.input('IN', 'FP32').data[0];
      for (let left = count; left > 0; left--) yield { request, outputs: { OUT: { shape: [1, 1], data: [left] } }, parameters: { left } };
    }
  },
});`;

describe('a generator', () => {
  it('answers a request no time, once or often', async () => {
    const { instance } = await openModel(countdown, { spec });
    expect(await runOf(instance, batchOf(0, 1, 3))).toEqual(['1 OUT [1,1]: 1…', '2 OUT [1,1]: 3…', '2 OUT [1,1]: 2…', '2 OUT [1,1]: 1…']);
    expect(await runOf(instance, batchOf(0))).toEqual([]);
  });

  it('may be synchronous, name the one request of its execution or not, and end a request before it ends itself', async () => {
    const { instance } = await openModel(
      `export default defineModel({ *execute([request]) {
        yield { outputs: { OUT: request.input('IN') } };
        yield { request, error: new ModelError('odd', 'NOT_FOUND') };
        yield { isLast: true };
      } });`,
      { spec },
    );
    expect(await runOf(instance, batchOf(5))).toEqual(['0 OUT [1,1]: 5…', '0 NOT_FOUND: odd…', '0 ']);
  });

  it('gives what it had when it fails, and then the error', async () => {
    const { instance } = await openModel(
      `export default defineModel({ async *execute(requests) {
        yield { request: requests[1], outputs: { OUT: requests[1].input('IN') }, isLast: true };
        yield { outputs: {} };
      } });`,
      { spec },
    );
    expect(await runOf(instance, batchOf(1, 2))).toEqual(['1 OUT [1,1]: 2', 'INTERNAL: an answer names no request of its execution']);
  });

  it('may change what it has given: its answers are copies', async () => {
    const { instance } = await openModel(
      `export default defineModel({ async *execute([request], context) {
        const own = context.allocate('FP32', [1, 1]);
        const { data, shape } = request.input('IN', 'FP32');
        for (let count = 0; count < 200; count++) {
          own[0] = count;
          yield { outputs: { OUT: { shape: [1, 1], data: own } } };
          data[0] = -count;
          yield { outputs: { OUT: { shape, data } } };
        }
      } });`,
      { spec },
    );
    const expected = Array.from({ length: 200 }, (_, count) => [`0 OUT [1,1]: ${count}…`, `0 OUT [1,1]: ${0 - count}…`]).flat();
    expect(await runOf(instance, batchOf(5))).toEqual(expected);
  });

  it('keeps the order and the content of very many answers, and of large ones', async () => {
    const bytes = modelSpec({ inputs: [inputSpec('IN', 'FP32', [1])], outputs: [outputSpec('OUT', 'UINT32', [-1])], decoupled: true });
    const { instance } = await openModel(
      `export default defineModel({ *execute() {
        for (let count = 0; count < 20_000; count++) yield { outputs: { OUT: { shape: [1], data: Uint32Array.of(count) } } };
        for (let count = 0; count < 20; count++) yield { outputs: { OUT: { shape: [1_000_000], data: new Uint32Array(1_000_000).fill(count) } } };
      } });`,
      { spec: bytes },
    );
    let [small, large] = [0, 0];
    await new Promise<void>((resolve, reject) => {
      instance.run(makeBatch([inferRequest({ IN: tensorFrom('FP32', [1], [0]) })])).subscribe({
        next: ({ outputs }) => {
          const tensor = outputs.get('OUT');
          const value = tensor?.buffer.subarray(tensor.end - 4, tensor.end);
          const wanted = tensor?.shape[0] === 1 ? small++ : large++;
          if (Buffer.from(value ?? []).readUInt32LE() !== wanted) reject(new Error(`answer ${small} ${large} is another`));
        },
        error: reject,
        complete: resolve,
      });
    });
    expect([small, large]).toEqual([20_000, 20]);
  });

  it('is ended, with its finally, when nobody listens any more: it waits, or never waits', async () => {
    for (const wait of ['await new Promise((resolve) => setTimeout(resolve, 1))', '0']) {
      const { instance } = await openModel(
        `export default defineModel({ async *execute([request]) {
          try { while (true) { yield { outputs: { OUT: request.input('IN') } }; ${wait}; } } finally { console.log('ended', request.isCancelled, request.signal.aborted); }
        } });`,
        { spec },
      );
      const parts: Part[] = [];
      const run = instance.run(batchOf(1)).subscribe((part) => parts.push(part));
      await until(() => parts.length > 100);
      run.unsubscribe();
      await until(() => log.lines.length > 0);
      expect(log.lines.splice(0)).toEqual(['info m_0: ended true true']);
    }
  });

  it('lets another batch begin while its own is under way, as often as the model allows', async () => {
    const { instance } = await openModel(
      `let now = 0;
      export default defineModel({ async *execute([request]) {
        now++;
        yield { outputs: { OUT: { shape: [1, 1], data: [now] } } };
        await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
        now--;
      } });`,
      { spec: { ...spec, parameters: new Map([['concurrency', '3']]) } },
    );
    const answers: string[] = [];
    let released = 0;
    const begin = () =>
      instance.run({ ...batchOf(0), releaseInstance: () => released++ }).subscribe((part) => answers.push(describePart(part)));
    const runs = [begin()];
    await until(() => released === 1);
    runs.push(begin());
    await until(() => released === 2);
    runs.push(begin());
    await until(() => answers.length === 3);
    runs.push(begin());
    // The fourth begins only once one of the others has ended.
    expect([answers, released]).toEqual([['0 OUT [1,1]: 1…', '0 OUT [1,1]: 2…', '0 OUT [1,1]: 3…'], 2]);
    runs[0]?.unsubscribe();
    await until(() => answers.length === 4);
    expect(answers[3]).toBe('0 OUT [1,1]: 3…');
    for (const run of runs) run.unsubscribe();
  });

  it('leaves others their turn however much it answers', async () => {
    const endless = await openModel(
      `export default defineModel({ *execute([request]) { while (true) yield { outputs: { OUT: request.input('IN') } }; } });`,
      { spec },
    );
    const other = await openModel(countdown, { spec, name: 'm_1' });
    let count = 0;
    const run = endless.instance.run(batchOf(1)).subscribe(() => count++);
    await until(() => count > 1000);
    for (let round = 0; round < 20; round++) expect(await runOf(other.instance, batchOf(1))).toEqual(['0 OUT [1,1]: 1…']);
    // The model that answers without end serves others too.
    let more = 0;
    const second = endless.instance.run(batchOf(2)).subscribe(() => more++);
    await until(() => more > 100);
    run.unsubscribe();
    second.unsubscribe();
  });

  it('waits while who asked has no room, and goes on when there is', async () => {
    for (const [id, end] of [
      ['good', 'complete'],
      ['bad', 'at the end'],
      ['gone', ''],
    ] as const) {
      const demand = { isOpen: true, onOpen: undefined as (() => void) | undefined };
      const { instance } = await openModel(
        `let made = 0;
        export default defineModel({ *execute([request]) {
          try { while (made < 1000) yield { outputs: { OUT: { shape: [1, 1], data: [made++] } } }; } finally { console.log('made', made); }
          if (request.id === 'bad') throw new ModelError('at the end');
        } });`,
        { spec: { ...spec, parameters: new Map([['execution_timeout_ms', '1500']]) }, name: id },
      );
      let [count, ended] = [0, ''];
      const request = { ...inferRequest({ IN: floatsOf([1]) }, { id }), demand };
      const run = instance.run(makeBatch([request])).subscribe({
        next: () => {
          count++;
          demand.isOpen = count % 100 !== 0;
        },
        error: (error: Error) => {
          ended = error.message;
        },
        complete: () => {
          ended = 'complete';
        },
      });
      for (let stop = 100; stop <= 1000; stop += 100) {
        await until(() => count === stop && (demand.onOpen !== undefined || stop === 1000));
        // Longer than the limit of an execution, all in all.
        if (id === 'good') await new Promise((resolve) => setTimeout(resolve, 200));
        if (id === 'gone') break;
        expect(count).toBe(stop);
        demand.isOpen = true;
        demand.onOpen?.();
      }
      if (id === 'gone') run.unsubscribe();
      await until(() => log.lines.length > 0 && ended === end);
      const [line = ''] = log.lines.splice(0);
      const made = Number(line.split(' ').at(-1));
      if (id === 'gone') expect(made).toBeLessThanOrEqual(100 + 65);
      else expect(made).toBe(1000);
      expect(demand.onOpen).toBe(undefined);
    }
  });
});
