import { NEVER, Observable } from 'rxjs';
import type { BatchingChoices } from '../../../src/operators/batching/dynamic-batching.ts';
import { dynamicBatching } from '../../../src/operators/batching/dynamic-batching.ts';
import { Call } from '../../../src/operators/call.ts';
import type { Granted } from '../../../src/streams/flow/buffer-when-free.ts';
import { noBufferCounters } from '../../../src/streams/flow/buffer-when-free.ts';
import type { Instance } from '../../../src/streams/inference/backend.ts';
import type { DynamicBatching } from '../../../src/streams/inference/model-spec.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { operatorLaws } from '../../contracts/operator-laws.ts';
import { instantInstance, makeBatching, makeLog, makeQueuePolicy, makeRequest, makeSpec } from '../../support/model.ts';
import { Supply } from '../../support/supply.ts';

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
