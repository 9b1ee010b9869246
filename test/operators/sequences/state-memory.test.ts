import { afterEach, describe, expect, it } from 'vitest';
import type { SequenceStrategy } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';
import { makePart } from '../../support/model.ts';
import { SequenceModel } from '../../support/sequence-model.ts';
import { makeState } from '../../support/sequences.ts';

let model: SequenceModel;

const start = (strategy: SequenceStrategy): void => {
  model = new SequenceModel({ spec: { maxBatchSize: 2 }, batching: { strategy, states: [makeState({ dims: [-1] })], maxIdleMs: 100 } });
};

afterEach(() => expect(model.stop()).toBe(0));

const memoryOf = (request: InferRequest | undefined): WeakRef<ArrayBufferLike> => {
  const state = request?.inputs.get('STATE');
  if (state === undefined) throw new Error('a row has no state');
  return new WeakRef(state.buffer.buffer);
};

/** A step of a sequence in that row of its batch, after which its state has 200 kB; what the rows had for a state. */
const step = (id: bigint, flags: 'S' | 'M' | 'E', row: number): readonly WeakRef<ArrayBufferLike>[] => {
  model.ask(id, flags, `${id}`);
  model.time.advance(0);
  const run = model.instance().last;
  const state = new Tensor('INT32', [1, 50_000], new Uint8Array(200_000));
  run.answer(makePart(row, { outputs: new Map([['STATE_OUT', state]]) }));
  run.complete();
  const memories = run.batch.requests.map(memoryOf);
  // What a test looks at afterwards keeps nothing alive.
  model.instance().runs.length = 0;
  return memories;
};

const alive = async (memories: readonly WeakRef<ArrayBufferLike>[]): Promise<readonly boolean[]> => {
  await collectGarbage();
  return memories.map((memory) => memory.deref() !== undefined);
};

describe.each<[string, SequenceStrategy]>([
  ['direct', { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 }],
  ['oldest', { kind: 'oldest', maxCandidateSequences: 2, preferredBatchSizes: [], maxQueueDelayMs: 0, preserveOrdering: false }],
])('the memory of a state that has grown, %s', (_, strategy) => {
  it('is kept from step to step, and given back at the end', async () => {
    start(strategy);
    step(1n, 'S', 0);
    const memories = [...step(1n, 'M', 0), ...step(1n, 'M', 0)];
    expect(await alive(memories)).toEqual([true, true]);
    step(1n, 'E', 0);
    expect(await alive(memories)).toEqual([false, false]);
  });

  it('is given back when the sequence was idle for too long', async () => {
    start(strategy);
    step(1n, 'S', 0);
    const memories = step(1n, 'M', 0);
    model.time.advance(99);
    expect(await alive(memories)).toEqual([true]);
    model.time.advance(1);
    expect(await alive(memories)).toEqual([false]);
  });

  it('is given back when a waiting step is cancelled, and its sequence with it', async () => {
    start(strategy);
    step(1n, 'S', 0);
    const memories = step(1n, 'M', 0);
    model.ask(1n, 'M').caller.unsubscribe();
    expect(await alive(memories)).toEqual([false]);
  });
});

it('a row that only fills up keeps no zeros as large as a state that has left, nor anything of its batch', async () => {
  start({ kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 });
  step(1n, 'S', 0);
  step(2n, 'S', 1);
  const [zeros = expect.fail('no row fills up'), state = expect.fail('nobody runs')] = step(2n, 'M', 1);
  expect(await alive([zeros, state])).toEqual([true, true]);
  step(2n, 'E', 1);
  expect(await alive([zeros, state])).toEqual([false, false]);
});
