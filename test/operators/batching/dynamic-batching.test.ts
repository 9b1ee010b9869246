import { NEVER, Observable } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { BatchStrategy } from '../../../src/operators/batching/batch-strategy.ts';
import type { BatchingChoices } from '../../../src/operators/batching/dynamic-batching.ts';
import { dynamicBatching } from '../../../src/operators/batching/dynamic-batching.ts';
import { Call } from '../../../src/operators/call.ts';
import { Gate } from '../../../src/operators/gate.ts';
import type { Granted } from '../../../src/streams/flow/buffer-when-free.ts';
import { noBufferCounters } from '../../../src/streams/flow/buffer-when-free.ts';
import type { Instance } from '../../../src/streams/inference/backend.ts';
import type { DynamicBatching, ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { operatorLaws } from '../../contracts/operator-laws.ts';
import { instantInstance, makeBatching, makeLog, makeQueuePolicy, makeRequest, makeSpec } from '../../support/model.ts';
import { Supply } from '../../support/supply.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const numberOf = (call: Call): number => Number(call.request.id);

// What it does with real instances stands in run-model.test.ts, its rule in plan-batch.test.ts.
const laws = (name: string, batching: DynamicBatching | undefined, choices: BatchingChoices = {}): void =>
  operatorLaws<Call, Granted<Call, Instance>>({
    name,
    limit: 100,
    create: (scheduler, limit) => {
      const supply = new Supply(instantInstance);
      const lost: number[] = [];
      const makeCall = (n: number): Call => {
        const calls: Call[] = [];
        new Observable<InferResponse>((caller) => {
          calls.push(
            new Call({
              request: makeRequest({ id: `${n}` }),
              rows: 1,
              shapeKey: '',
              arrivedMs: scheduler.now(),
              caller,
              holder: { cancel: () => {} },
            }),
          );
        }).subscribe({ error: () => lost.push(n) });
        const [call] = calls;
        if (call === undefined) throw new Error('no call was made');
        return call;
      };
      return {
        operator: dynamicBatching({
          spec: makeSpec({
            maxQueueSize: limit,
            maxBatchSize: 1,
            dynamicBatching: batching && { ...batching, defaultQueuePolicy: { ...batching.defaultQueuePolicy, maxQueueSize: limit } },
          }),
          ...choices,
          free$: supply.free$,
          withdrawn$: NEVER,
          scheduler,
          counters: noBufferCounters(),
        }),
        item: makeCall,
        numbersOf: ({ items }) => {
          supply.handOver();
          return items.map(numberOf);
        },
        out: [],
        lost,
        serve: (count) => supply.add(count),
        held: () => supply.held,
      };
    },
  });

laws('dynamicBatching', makeBatching({ preferredBatchSizes: [1], maxQueueDelayMs: 5 }));
laws('the default scheduler', undefined);

const usual = makeBatching({ preferredBatchSizes: [1], maxQueueDelayMs: 5 });
laws('dynamicBatching with levels and time-outs', {
  ...usual,
  priorityLevels: 3n,
  defaultPriorityLevel: 2n,
  defaultQueuePolicy: makeQueuePolicy({ defaultTimeoutMs: 100 }),
});
laws('dynamicBatching with a strategy', usual, { strategy: { strategy: { begin: () => 0, includes: () => true }, log: makeLog() } });

describe('how a model with dynamic batching batches, besides its config', () => {
  /** The sizes of its batches, each on an instance that is free at once. */
  const run = (choices: BatchingChoices, spec: Partial<ModelSpec> = {}) => {
    const time = new VirtualTime();
    const gate = new Gate({ spec: makeSpec(), scheduler: time });
    const supply = new Supply(instantInstance);
    const sizes: number[] = [];
    const running = gate.calls$
      .pipe(
        dynamicBatching({
          spec: makeSpec(spec),
          ...choices,
          free$: supply.free$,
          withdrawn$: gate.withdrawn$,
          scheduler: time,
          counters: noBufferCounters(),
        }),
      )
      .subscribe(({ items }) => {
        supply.handOver();
        sizes.push(items.length);
      });
    onTestFinished(() => running.unsubscribe());
    supply.add(10);
    const ask = (count: number): void => {
      for (let n = 0; n < count; n++) gate.infer(makeRequest()).subscribe({ error: () => {} });
      time.advance(0);
    };
    return { sizes, ask };
  };

  it('may be held until so many wait, the first time', () => {
    const { sizes, ask } = run({ holdUntilQueued: 3 });
    ask(2);
    expect(sizes).toEqual([]);
    ask(1);
    ask(1);
    expect(sizes).toEqual([3, 1]);
  });

  it('is held no longer than it is asked to, and without batching not at all', () => {
    for (const { sizes, ask } of [run({}), run({ holdUntilQueued: 0 }), run({ holdUntilQueued: 3 }, { dynamicBatching: undefined })]) {
      ask(1);
      expect(sizes).toEqual([1]);
    }
  });

  it('may go by a rule of the user, whose faults are told of the model', () => {
    const pairs: BatchStrategy<{ count: number }> = { begin: () => ({ count: 0 }), includes: (_, state) => ++state.count <= 2 };
    const two = run({ strategy: { strategy: pairs, log: makeLog() } });
    two.ask(3);
    expect(two.sizes[0]).toBe(2);
    const log = makeLog();
    const begin = (): never => {
      throw new Error('oh');
    };
    run({ strategy: { strategy: { begin, includes: () => true }, log } }).ask(1);
    expect(log.lines).toEqual([
      "error the batch strategy of model 'm' version 1 failed, and its batches are planned without it: Error: oh",
    ]);
  });
});
