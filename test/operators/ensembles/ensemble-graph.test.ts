import { Observable, type Subscription } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { noCacheStageCounters } from '../../../src/operators/cache/response-cache.ts';
import type { EnsembleGraph } from '../../../src/operators/ensembles/ensemble-graph.ts';
import { type RunGraphConfig, runGraph } from '../../../src/operators/ensembles/run-graph.ts';
import { WaitOrder } from '../../../src/operators/ensembles/wait-order.ts';
import type { RunningModel } from '../../../src/operators/run-model.ts';
import type { InferenceEvent } from '../../../src/streams/inference/events.ts';
import type { Layer } from '../../../src/streams/inference/infer.ts';
import { Tensor, type Tensors } from '../../../src/streams/tensors/tensor.ts';
import { HandModel, noWaits } from '../../support/hand-ensemble.ts';
import { makeLog, makeRequest } from '../../support/model.ts';

/** IN → a → t → b → OUT, whose steps the config has the other way round. */
const graph: EnsembleGraph = {
  name: 'e',
  version: '7',
  maxBatchSize: 4,
  wires: ['IN', 't', 'OUT'].map((name, slot) => ({ name, branch: 0, slot })),
  branchSizes: [3],
  inputs: [{ name: 'IN', wire: 0 }],
  outputs: [{ name: 'OUT', wire: 2, fit: 'as-is', dims: [1] }],
  steps: [
    ['a', 1, 0],
    ['b', 0, 1],
  ].map(([name, index, from]) => ({
    index: Number(index),
    modelName: `${name}`,
    modelVersion: '3',
    inputs: [{ name: 'x', wire: Number(from), fit: 'as-is', dims: [1] }],
    outputs: [{ name: 'y', wire: Number(from) + 1 }],
    modelOutputs: ['y'],
    branch: 0,
    outputBranch: 0,
    waits: noWaits,
  })),
  maxInflightRequests: 0,
};

describe('an ensemble among other models', () => {
  let life: Subscription | undefined;
  const models = new Map<string, HandModel>();
  const events: InferenceEvent[] = [];

  const start = (fields: Partial<RunGraphConfig> = {}): RunningModel => {
    let running: RunningModel | undefined;
    for (const name of ['a', 'b']) models.set(name, new HandModel());
    events.length = 0;
    const find = (name: string, version: string): HandModel => {
      const model = models.get(name);
      if (model === undefined || version !== '3') throw new Error(`no ${name} of version ${version}`);
      return model;
    };
    const config = {
      graph,
      models: { find },
      waitOrder: new WaitOrder(),
      maxQueueSize: 9,
      layers: [],
      sink: (event: InferenceEvent) => events.push(event),
    };
    life = runGraph({ ...config, log: makeLog(), epochMs: () => 5, ...fields }).subscribe((each) => {
      running = each;
    });
    if (running === undefined) throw new Error('it did not start');
    return running;
  };

  afterEach(() => life?.unsubscribe());

  const ask = (running: RunningModel, inputs: Tensors, caller?: 'outer'): string[] => {
    const ends: string[] = [];
    const request = makeRequest({ inputs, ...(caller === undefined ? {} : { caller: { modelName: caller, caller: undefined } }) });
    running.infer(request).subscribe({ error: ({ code }) => ends.push(code), complete: () => ends.push('complete') });
    return ends;
  };
  const rows = (...shape: number[]): Tensors => new Map([['IN', new Tensor('UINT8', shape, new Uint8Array(8))]]);

  it.each([
    [rows(3, 1), 3],
    [rows(0, 1), 1],
    [rows(), 1],
    [new Map(), 1],
  ])('counts the rows of a request', (inputs, count) => {
    const running = start();
    ask(running, inputs);
    for (const name of ['a', 'b']) models.get(name)?.last.answer({ y: 1 });
    expect(events).toMatchObject([{ model: 'e', version: '7', rows: count, succeededRows: count, endedAtMs: 5 }]);
  });

  it('counts each request as one row where it has no batch dimension', () => {
    const running = start({ graph: { ...graph, maxBatchSize: 0 } });
    ask(running, rows(3));
    for (const name of ['a', 'b']) models.get(name)?.last.answer({ y: 1 });
    expect(events).toMatchObject([{ rows: 1 }]);
  });

  it('shows its steps in the order of the config, with a limit where something may wait', () => {
    const stage = { in: 0, out: 0, failed: 0, queued: 0, running: 0, limit: 0 };
    const stages = [
      { ...stage, name: '0:b', model: { name: 'b', version: '3' } },
      { ...stage, name: '1:a', model: { name: 'a', version: '3' } },
    ];
    expect(start().graph()).toEqual({
      model: 'e',
      version: '7',
      stages,
      edges: [
        { from: '1:a', to: '0:b', tensor: 't' },
        { from: 'request', to: '1:a', tensor: 'IN' },
        { from: '0:b', to: 'response', tensor: 'OUT' },
      ],
      instances: { total: 0, alive: 0, busy: 0 },
    });
    const limited = start({ graph: { ...graph, maxInflightRequests: 2 } }).graph();
    expect(limited.stages).toEqual(stages.map((each) => ({ ...each, limit: 9 })));
  });

  it('has a cache as its first stage, behind its door and its layers', () => {
    const order: string[] = [];
    const mark =
      (name: string): Layer =>
      (next) =>
      (request) =>
        new Observable((caller) => {
          order.push(name);
          return next(request).subscribe(caller);
        });
    const counters = { ...noCacheStageCounters(), in: 4, out: 3, running: 1 };
    const running = start({ layers: [mark('outer'), mark('inner')], cache: { layer: mark('cache'), counters } });
    ask(running, rows(1, 1));
    expect(order).toEqual(['outer', 'inner', 'cache']);
    const { stages, edges } = running.graph();
    expect(stages[0]).toEqual({ name: 'cache', ...counters, limit: 9 });
    expect(edges).toContainEqual({ from: 'request', to: 'cache' });
    expect(edges).toContainEqual({ from: 'cache', to: '1:a', tensor: 'IN' });
    life?.unsubscribe();
    order.length = 0;
    expect(ask(running, rows(1, 1))).toEqual(['UNAVAILABLE']);
    expect(order).toEqual(['outer', 'inner']);
  });

  it('is ready when the models of all its steps are there, and ready', () => {
    const running = start();
    expect(running.isReady()).toBe(true);
    for (const name of ['a', 'b']) {
      const model = models.get(name);
      if (model === undefined) throw new Error('it is there');
      model.ready = false;
      expect(running.isReady()).toBe(false);
      models.delete(name);
      expect(running.isReady()).toBe(false);
      models.set(name, Object.assign(model, { ready: true }));
    }
    expect(running.isReady()).toBe(true);
  });

  it('goes on for those who hold it', async () => {
    const running = start();
    running.hold();
    const drained = running.drain().then(() => 'drained');
    expect(ask(running, rows(1, 1))).toEqual(['UNAVAILABLE']);
    const ends = ask(running, rows(1, 1), 'outer');
    for (const name of ['a', 'b']) models.get(name)?.last.answer({ y: 1 });
    expect(ends).toEqual(['complete']);
    expect(await Promise.race([drained, Promise.resolve('waits')])).toBe('waits');
    running.release();
    expect(await drained).toBe('drained');
  });
});
