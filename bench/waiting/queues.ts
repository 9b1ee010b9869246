import type { ModelSpec, QueuePolicy } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import { echoSpec, makeRequest } from '../graph/echo-spec.ts';
import { stepSpec } from '../graph/step-spec.ts';

/** What waits, and how much of it is cancelled. */
export interface Queue {
  readonly spec: ModelSpec;
  /** So many requests. */
  requests(count: number): readonly InferRequest[];
  /** Indices of the requests to cancel, in any order: about half of what waits goes with them. */
  cancelled(count: number, random: () => number): number[];
}

const limit = 200_000;
const levels = 8;
const hour = 3_600_000;

const policy: QueuePolicy = { timeoutAction: 'REJECT', defaultTimeoutMs: hour, allowTimeoutOverride: true, maxQueueSize: limit };

const priorities: Queue = {
  spec: {
    ...echoSpec,
    name: 'priorities',
    maxQueueSize: limit,
    dynamicBatching: {
      preferredBatchSizes: [64],
      maxQueueDelayMs: 0,
      preserveOrdering: false,
      priorityLevels: BigInt(levels),
      defaultPriorityLevel: 1n,
      defaultQueuePolicy: policy,
      queuePolicies: new Map(),
      isStrict: true,
    },
  },
  // Time-outs of many lengths: a heap of them is never in order.
  requests: (count) =>
    Array.from({ length: count }, (_, n) => ({
      ...makeRequest(String(n)),
      modelName: 'priorities',
      priority: BigInt(1 + (n % levels)),
      timeoutMicroseconds: BigInt(hour * 1000 - ((n * 7919) % 1_000_003)),
    })),
  cancelled: (count, random) => Array.from({ length: count }, (_, n) => n).filter(() => random() < 0.5),
};

const stepsOfSequence = 10;

const { sequenceBatching } = stepSpec;
const patient: ModelSpec['sequenceBatching'] =
  sequenceBatching === undefined ? undefined : { ...sequenceBatching, states: [], maxIdleMs: hour };

const sequences: Queue = {
  spec: { ...stepSpec, name: 'sequences', maxQueueSize: limit, sequenceBatching: patient },
  // One step of each sequence after the other: as if they all ran at once.
  requests: (count) => {
    const together = count / stepsOfSequence;
    return Array.from({ length: count }, (_, n) => {
      const step = Math.floor(n / together);
      return {
        ...makeRequest(String(n)),
        modelName: 'sequences',
        sequenceId: BigInt(1 + (n % together)),
        sequenceStart: step === 0,
        sequenceEnd: step === stepsOfSequence - 1,
        timeoutMicroseconds: BigInt(hour * 1000 - ((n * 7919) % 1_000_003)),
      };
    });
  },
  // With a request go those behind it, and all of a sequence that has no slot: so one of every second sequence is enough.
  cancelled: (count, random) => {
    const together = count / stepsOfSequence;
    const indices: number[] = [];
    for (let n = 0; n < together; n++) if (random() < 0.5) indices.push(n + together * Math.floor(random() * stepsOfSequence));
    return indices;
  },
};

export const queues = { priorities, sequences };
