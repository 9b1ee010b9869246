import type { Subscription } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { requestLayers } from '../../../src/operators/layers/request-layers.ts';
import type { RunningModel } from '../../../src/operators/run-model.ts';
import { runModel } from '../../../src/operators/run-model.ts';

import type { InferError } from '../../../src/streams/inference/error.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import {
  HandInstance,
  living,
  makeBatching,
  makeInput,
  makeLog,
  makePart,
  makePlacement,
  makeQueuePolicy,
  makeRequest,
  makeSpec,
  messageOf,
} from '../../support/model.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

type Fields = Partial<InferRequest> & { readonly shape?: Shape };

describe('dynamic batching, as a caller sees it', () => {
  let time: VirtualTime;
  let instance: HandInstance;
  let model: RunningModel;
  let running: Subscription;
  /** By the id of the request: `answered`, or the error. */
  let ends: Map<string, string>;

  const start = (spec: Partial<ModelSpec> = {}): void => {
    time = new VirtualTime();
    instance = new HandInstance();
    ends = new Map();
    const complete = makeSpec(spec);
    running = runModel({
      spec: complete,
      placements: [{ placement: makePlacement(), open: () => living(instance) }],
      layers: requestLayers({ spec: complete, sink: () => {}, scheduler: time }),
      sink: () => {},
      scheduler: time,
      log: makeLog(),
    }).subscribe((one) => {
      model = one;
    });
  };

  afterEach(() => {
    running.unsubscribe();
    expect(time.pending).toBe(0);
  });

  /** The request's bytes are all the number of requests before it. */
  const send = (id: string, { shape = [1, 4], ...fields }: Fields = {}): Subscription =>
    model.infer(makeRequest({ id, ...fields }, shape, ends.size)).subscribe({
      error: (error: InferError) => ends.set(id, messageOf(error)),
      complete: () => ends.set(id, 'answered'),
    });

  const rows = (count: number): Fields => ({ shape: [count, 4] });

  const batches = (): readonly string[] => instance.runs.map(({ batch }) => batch.requests.map(({ id }) => id).join('+'));

  /** Keeps the only instance busy with a batch of its own. */
  const occupy = (): void => {
    send('busy');
    time.advance(0);
    // Not yet full or due: then it is the test's.
    if (instance.runs.length === 0) time.advance(10_000);
  };

  const finish = (): void => {
    instance.last.finish();
    time.advance(0);
  };

  const queued = (): number | undefined => model.graph().stages.find(({ name }) => name === 'queue')?.queued;

  const ragged = { inputs: [makeInput({ dims: [-1] })] };

  it('batches equal lengths that follow each other, and reorders nothing to do so', () => {
    start({ ...ragged, dynamicBatching: makeBatching({ maxQueueDelayMs: 5 }) });
    for (const [id, width] of [
      ['a', 3],
      ['b', 3],
      ['c', 5],
      ['d', 5],
    ] as const) {
      send(id, { shape: [1, width] });
    }
    time.advance(0);
    finish();
    time.advance(5);
    finish();
    expect(batches()).toEqual(['a+b', 'c+d']);

    start({ ...ragged, dynamicBatching: makeBatching({ maxQueueDelayMs: 5 }) });
    for (const [id, width] of [
      ['a', 3],
      ['b', 5],
      ['c', 3],
      ['d', 5],
    ] as const) {
      send(id, { shape: [1, width] });
    }
    for (let round = 0; round < 4; round++) {
      time.advance(5);
      finish();
    }
    expect(batches()).toEqual(['a', 'b', 'c', 'd']);
    expect([...ends.values()]).toEqual(['answered', 'answered', 'answered', 'answered']);
  });

  it('takes the largest preferred size and lets the rest wait for the delay', () => {
    start({ dynamicBatching: makeBatching({ preferredBatchSizes: [2, 6], maxQueueDelayMs: 500 }) });
    for (const id of 'abcdefg') send(id);
    time.advance(0);
    finish();
    expect(batches()).toEqual(['a+b+c+d+e+f']);
    time.advance(499);
    expect(batches()).toHaveLength(1);
    time.advance(1);
    expect(batches()).toEqual(['a+b+c+d+e+f', 'g']);
  });

  it('forgets preferred sizes once the delay is over', () => {
    start({ dynamicBatching: makeBatching({ preferredBatchSizes: [2, 6], maxQueueDelayMs: 500 }) });
    occupy();
    for (const id of 'abcdefg') send(id);
    time.advance(500);
    finish();
    expect(batches().at(-1)).toBe('a+b+c+d+e+f+g');
  });

  it('counts rows', () => {
    start();
    occupy();
    send('a', rows(5));
    send('b', rows(5));
    send('c', rows(9));
    finish();
    finish();
    expect(batches()).toEqual(['busy', 'a', 'b']);
    expect(ends.get('c')).toBe("INVALID_ARGUMENT [request id: c] inference request batch-size must be <= 8 for 'm'");
  });

  it('works with batches of one', () => {
    start({ maxBatchSize: 1, dynamicBatching: makeBatching({ preferredBatchSizes: [1], maxQueueDelayMs: 5 }) });
    for (const id of 'ab') send(id);
    time.advance(0);
    finish();
    finish();
    expect([batches(), [...ends.values()]]).toEqual([
      ['a', 'b'],
      ['answered', 'answered'],
    ]);
  });

  it('gives every caller of a batch the outputs it asked for', () => {
    const tensor = { datatype: 'UINT8', dims: [4], reshape: undefined, labels: [] } as const;
    start({
      outputs: [
        { name: 'OUT0', ...tensor },
        { name: 'OUT1', ...tensor },
      ],
    });
    const got = new Map<string, readonly string[]>();
    for (const [id, name] of [
      ['a', 'OUT0'],
      ['b', 'OUT1'],
    ] as const) {
      const request = makeRequest({ id, outputs: [{ name, classification: 0 }] });
      model.infer(request).subscribe(({ outputs }) => got.set(id, [...outputs.keys()]));
    }
    time.advance(0);
    expect(batches()).toEqual(['a+b']);
    const one = new Tensor('UINT8', [1, 4], new Uint8Array(4));
    for (const of of [0, 1])
      instance.last.answer(
        makePart(of, {
          outputs: new Map([
            ['OUT0', one],
            ['OUT1', one],
          ]),
        }),
      );
    instance.last.complete();
    expect([...got]).toEqual([
      ['a', ['OUT0']],
      ['b', ['OUT1']],
    ]);
  });

  it('shows the model the parameters of each request, and batches them together', () => {
    start();
    for (const crop of [1n, 2n]) send(`${crop}`, { parameters: new Map([['crop', crop]]) });
    time.advance(0);
    expect(instance.last.batch.requests.map(({ parameters }) => parameters.get('crop'))).toEqual([1n, 2n]);
  });

  it('never mixes values of the parameter that it groups by', () => {
    start({ batchOptions: { groupByParameter: 'crop', unequalShapes: false, padding: undefined } });
    occupy();
    for (const [n, crop] of [1n, 1n, 2n, undefined, 1n].entries()) {
      send(`${n}`, { parameters: new Map(crop === undefined ? [] : [['crop', crop]]) });
    }
    for (let round = 0; round < 4; round++) finish();
    expect(batches()).toEqual(['busy', '0+1', '2', '3', '4']);
  });

  it('lets unequal shapes share an execution where the model says so', () => {
    start({ ...ragged, batchOptions: { groupByParameter: undefined, unequalShapes: true, padding: undefined } });
    for (const width of [3, 5, 3]) send(`${width}`, { shape: [1, width] });
    time.advance(0);
    expect(batches()).toEqual(['3+5+3']);
  });

  const refused = (id: string): string => `UNAVAILABLE [request id: ${id}] Exceeds maximum queue size`;

  it('ends a request one of whose answers cannot be cut back, though others may follow', () => {
    start({
      decoupled: true,
      inputs: [makeInput({ dims: [-1] })],
      outputs: [{ name: 'OUT', datatype: 'UINT8', dims: [-1], reshape: undefined, labels: [] }],
      batchOptions: {
        groupByParameter: undefined,
        unequalShapes: false,
        padding: { inputs: ['IN'], value: 0, mask: undefined, outputs: ['OUT'] },
      },
    });
    send('a', { shape: [1, 2] });
    send('b', { shape: [1, 4] });
    time.advance(0);
    const outputs = new Map([['OUT', new Tensor('UINT8', [1, 3], new Uint8Array(3))]]);
    instance.last.answer(makePart(0, { outputs, isLast: false }));
    expect(ends.get('a')).toMatch(/^INTERNAL output 'OUT' of model 'm' cannot be cut back/);
  });

  it('keeps exactly to the limit of the queue beside a busy instance, twenty times', () => {
    for (let round = 0; round < 20; round++) {
      start({ dynamicBatching: makeBatching({ defaultQueuePolicy: makeQueuePolicy({ maxQueueSize: 2 }), isStrict: true }) });
      occupy();
      for (const id of 'abcdef') send(id);
      expect([...ends]).toEqual([...'cdef'].map((id) => [id, refused(id)]));
      finish();
      expect(batches()).toEqual(['busy', 'a+b']);
      finish();
      running.unsubscribe();
    }
  });

  it('goes by priority: 3, 3, 1, 2 run as 1, 2, 3, 3, and what is absent or beyond is the default', () => {
    start({ maxBatchSize: 1, dynamicBatching: makeBatching({ preferredBatchSizes: [1], priorityLevels: 3n, defaultPriorityLevel: 2n }) });
    occupy();
    for (const [n, priority] of [3n, 3n, 1n, 2n, 0n, 4n, 2n ** 64n - 1n].entries()) send(`${n}:${priority}`, { priority });
    for (let round = 0; round < 7; round++) finish();
    expect(batches()).toEqual(['busy', '2:1', '3:2', '4:0', '5:4', `6:${2n ** 64n - 1n}`, '0:3', '1:3']);
  });

  it('takes levels beyond 32 bits', () => {
    const priorityLevels = 2n ** 63n;
    start({ maxBatchSize: 1, dynamicBatching: makeBatching({ preferredBatchSizes: [1], priorityLevels, defaultPriorityLevel: 1n }) });
    occupy();
    for (const [id, priority] of [
      ['last', priorityLevels],
      ['later', 2n ** 32n + 1n],
      ['first', 2n ** 32n],
    ] as const)
      send(id, { priority });
    for (let round = 0; round < 3; round++) finish();
    expect(batches()).toEqual(['busy', 'first', 'later', 'last']);
  });

  it('pays no attention to priorities in a model without levels', () => {
    start();
    occupy();
    send('a', { priority: 9n });
    send('b', { priority: 1n });
    finish();
    expect(batches().at(-1)).toBe('a+b');
  });

  it('has a limit for each level, which what runs does not count against', () => {
    start({
      dynamicBatching: makeBatching({
        priorityLevels: 2n,
        defaultPriorityLevel: 1n,
        defaultQueuePolicy: makeQueuePolicy({ maxQueueSize: 8 }),
        queuePolicies: new Map([[2n, makeQueuePolicy({ maxQueueSize: 1 })]]),
        isStrict: true,
      }),
    });
    occupy();
    for (let n = 0; n < 10; n++) send(`${n}`);
    send('x', { priority: 2n });
    send('y', { priority: 2n });
    expect([...ends]).toEqual(['8', '9', 'y'].map((id) => [id, refused(id)]));
    expect(queued()).toBe(9);
  });

  const timing = (fields: Parameters<typeof makeQueuePolicy>[0]): Partial<ModelSpec> => ({
    dynamicBatching: makeBatching({ defaultQueuePolicy: makeQueuePolicy(fields), isStrict: true }),
  });

  it.each([
    ['a default', { defaultTimeoutMs: 100 }, 0n, 100],
    ['a shorter one of the request', { defaultTimeoutMs: 100, allowTimeoutOverride: true }, 40_000n, 40],
    ['a longer one of the request: the default', { defaultTimeoutMs: 100, allowTimeoutOverride: true }, 400_000n, 100],
    ['one of the request that is not allowed: the default', { defaultTimeoutMs: 100 }, 40_000n, 100],
    ['none in the request: the default', { defaultTimeoutMs: 100, allowTimeoutOverride: true }, 0n, 100],
    ['one of the request beside no default: none', { allowTimeoutOverride: true }, 40_000n, Number.POSITIVE_INFINITY],
  ])('times out while no instance is free, by %s', (_, policy, timeoutMicroseconds, afterMs) => {
    start(timing(policy));
    occupy();
    send('a', { timeoutMicroseconds });
    time.advance(Math.min(afterMs, 1000));
    expect(ends.has('a')).toBe(false);
    time.advance(1);
    expect(ends.get('a')).toBe(afterMs > 1000 ? undefined : 'UNAVAILABLE Request timeout expired');
    finish();
    expect(batches()).toEqual(afterMs > 1000 ? ['busy', 'a'] : ['busy']);
  });

  it('times out in one level beside another that waits for ever', () => {
    start({
      dynamicBatching: makeBatching({
        priorityLevels: 2n,
        defaultPriorityLevel: 2n,
        defaultQueuePolicy: makeQueuePolicy({ defaultTimeoutMs: 100 }),
        queuePolicies: new Map([[1n, makeQueuePolicy()]]),
        isStrict: true,
      }),
    });
    occupy();
    send('patient', { priority: 1n });
    send('hasty');
    time.advance(101);
    expect([...ends]).toEqual([['hasty', 'UNAVAILABLE Request timeout expired']]);
  });

  it('never times out what runs', () => {
    start(timing({ defaultTimeoutMs: 10 }));
    send('a');
    time.advance(1000);
    finish();
    expect([...ends]).toEqual([['a', 'answered']]);
  });

  it('serves what it delays after all others of its level, and within the delay of the queue', () => {
    start({
      dynamicBatching: makeBatching({
        preferredBatchSizes: [4],
        maxQueueDelayMs: 10_000,
        defaultQueuePolicy: makeQueuePolicy({ timeoutAction: 'DELAY', defaultTimeoutMs: 100 }),
        isStrict: true,
      }),
    });
    send('late');
    time.advance(101);
    send('b', rows(2));
    send('c', rows(2));
    time.advance(0);
    expect(batches()).toEqual(['b+c']);
    finish();
    time.advance(9_898);
    expect(batches()).toHaveLength(1);
    time.advance(1);
    expect(batches()).toEqual(['b+c', 'late']);
  });

  it('lets a more urgent request take its place in a batch', () => {
    start({
      dynamicBatching: makeBatching({ preferredBatchSizes: [4], maxQueueDelayMs: 10_000, priorityLevels: 2n, defaultPriorityLevel: 2n }),
    });
    send('a', rows(2));
    send('b', rows(1));
    time.advance(100);
    send('urgent', { ...rows(2), priority: 1n });
    time.advance(0);
    expect(batches()).toEqual(['urgent+a']);
    finish();
    time.advance(9_899);
    expect(batches()).toHaveLength(1);
    time.advance(1);
    expect(batches()).toEqual(['urgent+a', 'b']);
  });

  it('leaves nothing behind whenever callers go: 1,000 of them', () => {
    start(timing({ defaultTimeoutMs: 5, maxQueueSize: 50 }));
    let seed = 1;
    const dice = (sides: number): number => {
      seed = (seed * 48_271) % 0x7fffffff;
      return seed % sides;
    };
    const callers: Subscription[] = [];
    for (let n = 0; n < 1000; n++) {
      callers.push(send(`${n}`));
      if (dice(3) === 0) time.advance(dice(3));
      if (dice(2) === 0) callers[dice(callers.length)]?.unsubscribe();
      if (dice(4) === 0 && instance.running > 0) finish();
    }
    while (instance.running > 0) finish();
    const { stages, instances } = model.graph();
    expect(stages.map(({ queued, running }) => queued + running)).toEqual(stages.map(() => 0));
    expect(instances.busy).toBe(0);
  });

  it('takes 20,000 that wait in a thousand levels, of which half go and half time out', () => {
    start({
      dynamicBatching: makeBatching({
        priorityLevels: 2n ** 40n,
        defaultPriorityLevel: 1n,
        defaultQueuePolicy: makeQueuePolicy({ maxQueueSize: 20_000, defaultTimeoutMs: 100 }),
        isStrict: true,
      }),
    });
    occupy();
    const callers = Array.from({ length: 20_000 }, (_, n) => send(`${n}`, { priority: BigInt((n * 7919) % 1000) }));
    for (let n = 0; n < callers.length; n += 2) callers[n]?.unsubscribe();
    expect(queued()).toBe(10_000);
    time.advance(101);
    expect([queued(), ends.size]).toEqual([0, 10_000]);
    finish();
    expect(batches()).toEqual(['busy']);
  });
});
