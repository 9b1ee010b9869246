import { setImmediate } from 'node:timers/promises';
import type { Observable } from 'rxjs';
import { concat, firstValueFrom, NEVER, of, Subject, Subscription, take, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningModel } from '../../src/operators/run-model.ts';
import { runModel } from '../../src/operators/run-model.ts';
import { machineScheduler } from '../../src/streams/flow/clock.ts';
import type { Instance } from '../../src/streams/inference/backend.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import { InferError as Failure } from '../../src/streams/inference/error.ts';
import type { InferenceEvent } from '../../src/streams/inference/events.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import {
  HandInstance,
  instantInstance,
  living,
  makeBatching,
  makeLog,
  makePlacement,
  makeRequest,
  makeSpec,
  messageOf,
} from '../support/model.ts';
import { VirtualTime } from '../support/virtual-time.ts';

interface Asked {
  readonly answers: InferResponse[];
  error: InferError | undefined;
  completed: number;
  readonly caller: Subscription;
}

describe('runModel', () => {
  let time: VirtualTime;
  let events: InferenceEvent[];
  let log: ReturnType<typeof makeLog>;
  let subscription: Subscription;
  let startError: unknown;

  beforeEach(() => {
    time = new VirtualTime();
    events = [];
    log = makeLog();
    subscription = new Subscription();
    startError = undefined;
  });

  afterEach(() => {
    subscription.unsubscribe();
    expect(time.pending).toBe(0);
  });

  const start = (lives: readonly (() => Observable<Instance>)[], spec: Partial<ModelSpec> = {}): RunningModel[] => {
    const models: RunningModel[] = [];
    subscription = runModel({
      spec: makeSpec(spec),
      placements: lives.map((open) => ({ placement: makePlacement(), open })),
      layers: [],
      sink: (event) => events.push(event),
      scheduler: time,
      log,
    }).subscribe({
      next: (model) => models.push(model),
      error: (error) => {
        startError = error;
      },
    });
    return models;
  };

  const startOne = (instance: Instance, spec: Partial<ModelSpec> = {}): RunningModel => {
    const [model] = start([() => living(instance)], spec);
    if (model === undefined) throw new Error('it did not start');
    return model;
  };

  const ask = (model: RunningModel, request: InferRequest = makeRequest()): Asked => {
    const asked = { answers: [] as InferResponse[], error: undefined as InferError | undefined, completed: 0 };
    const caller = model.infer(request).subscribe({
      next: (answer) => asked.answers.push(answer),
      error: (error) => {
        asked.error = error;
      },
      complete: () => asked.completed++,
    });
    return Object.assign(asked, { caller });
  };

  /** Checks as well that no stage has lost count. */
  const counts = (model: RunningModel): string => {
    const { stages, instances } = model.graph();
    for (const stage of stages) expect(stage.in).toBe(stage.out + stage.failed + stage.queued + stage.running);
    const [queue, run] = stages;
    return `queued ${queue?.queued} running ${run?.running} out ${run?.out} alive ${instances.alive} busy ${instances.busy}`;
  };

  it('answers each caller of a batch with its own', () => {
    const instance = new HandInstance();
    const model = startOne(instance);
    const asked = [1, 2, 3].map((fill) => ask(model, makeRequest({ id: `r${fill}` }, [1, 4], fill)));
    time.advance(0);
    expect(instance.last.batch.rows).toEqual([1, 1, 1]);
    expect(counts(model)).toBe('queued 0 running 3 out 0 alive 1 busy 1');
    instance.last.finish();
    expect(asked.map(({ answers }) => answers.map(({ id, outputs }) => `${id} ${outputs.get('OUT')?.bytes[0]}`))).toEqual([
      ['r1 1'],
      ['r2 2'],
      ['r3 3'],
    ]);
    expect(asked.map(({ completed }) => completed)).toEqual([1, 1, 1]);
    expect(asked[0]?.answers[0]).toMatchObject({ modelName: 'm', modelVersion: '1', isLast: true });
    expect(counts(model)).toBe('queued 0 running 0 out 3 alive 1 busy 0');
  });

  it('lets the queue grow while every instance is busy', () => {
    const instance = new HandInstance();
    const model = startOne(instance);
    ask(model);
    time.advance(0);
    for (let n = 0; n < 5; n++) ask(model);
    time.advance(10);
    expect(counts(model)).toBe('queued 5 running 1 out 0 alive 1 busy 1');
    instance.last.finish();
    expect(instance.last.batch.totalRows).toBe(5);
  });

  it('runs one request at a time without dynamic batching', () => {
    const instance = new HandInstance();
    const model = startOne(instance, { dynamicBatching: undefined });
    ask(model, makeRequest({}, [3, 4]));
    ask(model);
    time.advance(0);
    expect(instance.runs.map(({ batch }) => batch.rows)).toEqual([[3]]);
    instance.last.finish();
    expect(instance.runs.map(({ batch }) => batch.rows)).toEqual([[3], [1]]);
  });

  it('batches under a maximum of one row', () => {
    const instance = new HandInstance();
    const model = startOne(instance, { maxBatchSize: 1, dynamicBatching: makeBatching({ preferredBatchSizes: [1], maxQueueDelayMs: 5 }) });
    const asked = [ask(model), ask(model)];
    time.advance(0);
    instance.last.finish();
    instance.last.finish();
    expect(asked.map(({ completed }) => completed)).toEqual([1, 1]);
  });

  it('takes batching of a model without batch dimension as one request at a time', () => {
    const instance = new HandInstance();
    const model = startOne(instance, { maxBatchSize: 0, dynamicBatching: makeBatching({ preferredBatchSizes: [], maxQueueDelayMs: 5 }) });
    ask(model, makeRequest({}, [4]));
    ask(model, makeRequest({}, [4]));
    time.advance(0);
    expect(instance.last.batch).toMatchObject({ rows: [1], totalRows: 1 });
  });

  it('accepts exactly what the queue has room for', () => {
    const instance = new HandInstance();
    const model = startOne(instance, { maxQueueSize: 2 });
    ask(model);
    time.advance(0);
    const asked = Array.from({ length: 6 }, (_, n) => ask(model, makeRequest({ id: n === 5 ? '' : `r${n}` })));
    expect(asked.map(({ error }) => messageOf(error))).toEqual([
      'none',
      'none',
      'UNAVAILABLE [request id: r2] Exceeds maximum queue size',
      'UNAVAILABLE [request id: r3] Exceeds maximum queue size',
      'UNAVAILABLE [request id: r4] Exceeds maximum queue size',
      'UNAVAILABLE [request id: <id_unknown>] Exceeds maximum queue size',
    ]);
    expect(asked[2]?.error?.reason).toBe('REJECTED');
    expect(counts(model)).toBe('queued 2 running 1 out 0 alive 1 busy 1');
  });

  it('does not count what a free instance is about to take against the queue', () => {
    const model = startOne(new HandInstance(), { maxQueueSize: 1, dynamicBatching: undefined });
    const asked = Array.from({ length: 5 }, () => ask(model));
    expect(asked.map(({ error }) => error?.code)).toEqual([undefined, undefined, 'UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE']);
  });

  it('takes a cancelled request out of the queue at once', () => {
    const instance = new HandInstance();
    const model = startOne(instance);
    ask(model);
    time.advance(0);
    const gone = ask(model, makeRequest({ id: 'gone' }));
    ask(model, makeRequest({ id: 'stays' }));
    gone.caller.unsubscribe();
    expect(counts(model)).toBe('queued 1 running 1 out 0 alive 1 busy 1');
    instance.last.finish();
    expect(instance.last.batch.requests.map(({ id }) => id)).toEqual(['stays']);
  });

  it('drops the answer of a cancelled request that runs, and cancels a batch that nobody waits for', () => {
    const instance = new HandInstance();
    const model = startOne(instance);
    const first = ask(model);
    const second = ask(model);
    time.advance(0);
    first.caller.unsubscribe();
    expect(instance.last.isCancelled).toBe(false);
    second.caller.unsubscribe();
    expect(instance.last.isCancelled).toBe(true);
    expect(counts(model)).toBe('queued 0 running 0 out 0 alive 1 busy 0');
    const third = ask(model);
    time.advance(0);
    instance.last.finish();
    expect([first.answers.length, second.answers.length, third.answers.length]).toEqual([0, 0, 1]);
    expect(events).toHaveLength(1);
  });

  it('has counted an answer when its caller sees it', () => {
    const instance = new HandInstance();
    const model = startOne(instance);
    const seen: string[] = [];
    model.infer(makeRequest()).subscribe(() => seen.push(counts(model)));
    time.advance(0);
    instance.last.finish();
    expect(seen).toEqual(['queued 0 running 0 out 1 alive 1 busy 1']);
  });

  it('takes a caller that leaves with its last answer for a success', () => {
    const instance = new HandInstance();
    const model = startOne(instance);
    const answers: InferResponse[] = [];
    model
      .infer(makeRequest())
      .pipe(take(1))
      .subscribe((answer) => answers.push(answer));
    time.advance(0);
    instance.last.finish();
    expect(answers).toHaveLength(1);
    expect(counts(model)).toBe('queued 0 running 0 out 1 alive 1 busy 0');
    expect(events).toMatchObject([{ succeeded: 1 }]);
  });

  it('emits once every placement is up', () => {
    const ready = [new Subject<Instance>(), new Subject<Instance>()];
    const models = start(ready.map((life) => () => life));
    ready[0]?.next(instantInstance);
    expect(models).toHaveLength(0);
    ready[1]?.next(new HandInstance());
    expect(models).toHaveLength(1);
    expect(models[0]?.isReady()).toBe(true);
  });

  it('errors when one placement cannot start, and closes the others', () => {
    const other = new Subject<Instance>();
    start([() => other, () => throwError(() => new Failure('INTERNAL', 'no such file'))]);
    expect(startError).toMatchObject({ code: 'INTERNAL', message: 'no such file' });
    expect(log.lines).toEqual([]);
    expect(other.observed).toBe(false);
  });

  it.each([
    [true, 1],
    [false, 2],
  ])('lends an instance that takes two batches for one of them, where it is to batch strictly (%s)', (isStrict, running) => {
    const instance = new HandInstance(2);
    const model = startOne(instance, { maxBatchSize: 1, dynamicBatching: makeBatching({ preferredBatchSizes: [1], isStrict }) });
    for (let n = 0; n < 2; n++) ask(model);
    time.advance(0);
    expect(instance.running).toBe(running);
  });

  it('is ready as long as each instance says so', () => {
    const ready = [true, true];
    const [model] = start(ready.map((_, n) => () => living({ ...instantInstance, isReady: () => ready[n] ?? false })));
    expect(model?.isReady()).toBe(true);
    for (const n of [0, 1]) {
      ready[n] = false;
      expect(model?.isReady()).toBe(false);
      ready[n] = true;
    }
  });

  it('lets answers leave as they come where no order of batches is asked for', () => {
    for (const dynamicBatching of [undefined, makeBatching({ preferredBatchSizes: [1], preserveOrdering: true })]) {
      const instances = [new HandInstance(), new HandInstance()];
      const [model] = start(
        instances.map((instance) => () => living(instance)),
        { dynamicBatching, maxBatchSize: 1 },
      );
      if (model === undefined) throw new Error('it did not start');
      const asked = [ask(model), ask(model)];
      time.advance(0);
      instances[1]?.last.finish();
      expect(asked.map(({ completed }) => completed)).toEqual([0, 1]);
      subscription.unsubscribe();
    }
  });

  it('fails the batch of an instance that dies, naming it, keeps what waits, and starts another', () => {
    const lives: Subject<Instance>[] = [];
    const open = (): Observable<Instance> => {
      const life = new Subject<Instance>();
      lives.push(life);
      return life;
    };
    const models = start([open]);
    const dying = new HandInstance();
    lives[0]?.next(dying);
    const [model] = models;
    if (model === undefined) throw new Error('it did not start');
    const runs = ask(model);
    time.advance(0);
    const waits = ask(model);
    lives[0]?.error(new Failure('INTERNAL', 'worker m_0 exited with code 134'));
    expect(messageOf(runs.error)).toBe('INTERNAL worker m_0 exited with code 134');
    expect(runs.error?.reason).toBe('BACKEND');
    expect(model.isReady()).toBe(false);
    expect(counts(model)).toBe('queued 1 running 0 out 0 alive 0 busy 0');
    expect(log.lines).toEqual(["error instance 0 of model 'm' version 1 ended, another follows: worker m_0 exited with code 134"]);
    time.advance(100);
    lives[1]?.error(new Failure('INTERNAL', 'no memory'));
    expect(counts(model)).toBe('queued 1 running 0 out 0 alive 0 busy 0');
    time.advance(200);
    expect(lives).toHaveLength(3);
    const reborn = new HandInstance();
    lives[2]?.next(reborn);
    reborn.last.finish();
    expect(waits.completed).toBe(1);
    expect(model.isReady()).toBe(true);
    expect(models).toHaveLength(1);
  });

  it('names the model when an instance ends without a word', () => {
    const life = new Subject<Instance>();
    const models = start([() => life]);
    life.next(new HandInstance());
    const asked = models.map((model) => ask(model));
    time.advance(0);
    life.complete();
    expect(asked.map(({ error }) => messageOf(error))).toEqual([
      "UNAVAILABLE an instance of model 'm' version 1 ended while it ran the request",
    ]);
    expect(log.lines).toEqual(["error instance 0 of model 'm' version 1 ended, another follows: it ended by itself"]);
  });

  it('says so when an instance runs again', () => {
    const lives: Subject<Instance>[] = [];
    start([
      () => {
        const life = new Subject<Instance>();
        lives.push(life);
        return life;
      },
    ]);
    lives[0]?.next(new HandInstance());
    expect(log.lines).toEqual([]);
    lives[0]?.complete();
    time.advance(100);
    lives[1]?.next(new HandInstance());
    expect(log.lines.at(-1)).toBe("info instance 0 of model 'm' version 1 runs again");
  });

  it('errors without placements', () => {
    start([]);
    expect(startError).toMatchObject({ code: 'INTERNAL', message: "model 'm' version 1 has no instances" });
  });

  it('fails what waits and what runs when it is unsubscribed', () => {
    const instance = new HandInstance();
    const model = startOne(instance);
    const runs = ask(model);
    time.advance(0);
    const waits = ask(model, makeRequest({ id: 'w' }));
    subscription.unsubscribe();
    expect(runs.error?.code).toBe('UNAVAILABLE');
    const text = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
    expect(messageOf(waits.error)).toBe(`UNAVAILABLE [request id: w] ${text}`);
    expect(instance.last.isCancelled).toBe(true);
    expect(messageOf(ask(model).error)).toBe(`UNAVAILABLE [request id: <id_unknown>] ${text}`);
  });

  it('drains: finishes what is inside, refuses what comes', async () => {
    const instance = new HandInstance();
    const model = startOne(instance);
    const runs = ask(model);
    time.advance(0);
    const waits = ask(model);
    const drained = model.drain();
    expect(ask(model).error?.code).toBe('UNAVAILABLE');
    instance.last.finish();
    instance.last.finish();
    await drained;
    expect([runs.completed, waits.completed]).toEqual([1, 1]);
    await model.drain();
  });

  it('is not drained while somebody holds it', async () => {
    const model = startOne(instantInstance);
    model.hold();
    let isDrained = false;
    const drained = model.drain().then(() => {
      isDrained = true;
    });
    await setImmediate();
    expect(isDrained).toBe(false);
    const caller = { modelName: 'e', caller: undefined };
    const asked = ask(model, makeRequest({ caller }));
    time.advance(0);
    expect(asked.completed).toBe(1);
    model.release();
    await drained;
    expect(ask(model, makeRequest({ caller })).error?.code).toBe('UNAVAILABLE');
  });

  it('gives two batches to two instances before a third goes behind one', () => {
    const instances = [new HandInstance(2), new HandInstance(2)];
    const [model] = start(
      instances.map((instance) => () => living(instance)),
      { dynamicBatching: undefined },
    );
    if (model === undefined) throw new Error('it did not start');
    for (let n = 0; n < 3; n++) ask(model);
    time.advance(0);
    expect(instances.map(({ running }) => running).sort()).toEqual([1, 2]);
  });

  describe('with passive instances', () => {
    const startPlaced = (passive: readonly boolean[], instances: readonly Instance[]): RunningModel => {
      const models: RunningModel[] = [];
      subscription = runModel({
        spec: makeSpec({ dynamicBatching: undefined, warmups: [{ name: 'S', count: 1, requests: [makeRequest()] }] }),
        placements: instances.map((instance, index) => ({
          placement: makePlacement({ isPassive: passive[index] ?? false }),
          open: () => living(instance),
        })),
        layers: [],
        sink: (event) => events.push(event),
        scheduler: time,
        log,
      }).subscribe((model) => models.push(model));
      for (const instance of instances) if (instance instanceof HandInstance && instance.runs.length > 0) instance.last.finish();
      const [model] = models;
      if (model === undefined) throw new Error('it did not start');
      return model;
    };

    it('loads them and gives them nothing, no warm-up either', () => {
      const [passive, active] = [new HandInstance(), new HandInstance()];
      const model = startPlaced([true, false], [passive, active]);
      expect(counts(model)).toBe('queued 0 running 0 out 0 alive 2 busy 0');
      ask(model);
      ask(model);
      time.advance(0);
      expect([passive.runs.length, active.runs.length]).toEqual([0, 2]);
      expect(counts(model)).toBe('queued 1 running 1 out 0 alive 2 busy 1');
      expect(model.graph().warmUp).toEqual({ in: 1, out: 1, failed: 0, running: 0 });
      expect(events).toEqual([]);
    });

    it('goes on when one of them dies, and starts another', () => {
      const lives: Subject<Instance>[] = [];
      const open = (): Observable<Instance> => {
        const life = new Subject<Instance>();
        lives.push(life);
        return concat(of(new HandInstance()), life);
      };
      const models: RunningModel[] = [];
      subscription = runModel({
        spec: makeSpec(),
        placements: [
          { placement: makePlacement({ isPassive: true }), open },
          { placement: makePlacement(), open: () => living(instantInstance) },
        ],
        layers: [],
        sink: () => {},
        scheduler: time,
        log,
      }).subscribe({
        next: (model) => models.push(model),
        error: (error) => {
          startError = error;
        },
      });
      lives[0]?.error(new Error('out of luck'));
      expect([startError, models[0]?.isReady()]).toEqual([undefined, false]);
      time.advance(100);
      expect([lives.length, models[0]?.isReady()]).toEqual([2, true]);
    });

    it('fails to start when one of them does', () => {
      subscription = runModel({
        spec: makeSpec(),
        placements: [true, false].map((isPassive) => ({
          placement: makePlacement({ isPassive }),
          open: () => (isPassive ? throwError(() => new Failure('INTERNAL', 'no such file')) : living(instantInstance)),
        })),
        layers: [],
        sink: () => {},
        scheduler: time,
        log,
      }).subscribe({
        error: (error) => {
          startError = error;
        },
      });
      expect(startError).toMatchObject({ message: 'no such file' });
    });

    it('answers at once when there are no others', async () => {
      const model = startPlaced([true, true], [new HandInstance(), new HandInstance()]);
      expect(model.isReady()).toBe(true);
      expect(messageOf(ask(model, makeRequest({ id: 'x' })).error)).toBe(
        "UNAVAILABLE [request id: x] every instance of model 'm' version 1 is passive: nothing runs its requests",
      );
      expect(startError).toBeUndefined();
      await model.drain();
    });
  });

  describe('with a warm-up', () => {
    const warmups = [{ name: 'S', count: 1, requests: [makeRequest()] }];

    it('is ready once every sample has run on every instance', () => {
      const instances = [new HandInstance(), new HandInstance()];
      const models = start(
        instances.map((instance) => () => living(instance)),
        { warmups },
      );
      instances[0]?.last.finish();
      expect(models).toHaveLength(0);
      instances[1]?.last.finish();
      expect(models).toHaveLength(1);
      expect(events).toEqual([]);
    });

    it('fails to start when a sample fails', () => {
      const instance = new HandInstance();
      start([() => living(instance)], { warmups });
      instance.last.fail(new Failure('INTERNAL', 'no weights'));
      expect(startError).toMatchObject({ code: 'INVALID_ARGUMENT', message: "failed to run warmup sample 'S': no weights; " });
    });

    it('takes a sample that fails after a death for a failed start, and tries again', () => {
      const lives: Subject<Instance>[] = [];
      const instance = new HandInstance();
      const open = (): Observable<Instance> => {
        const life = new Subject<Instance>();
        lives.push(life);
        return concat(of(instance), life);
      };
      start([open], { warmups });
      instance.last.finish();
      lives[0]?.error(new Error('died'));
      time.advance(100);
      expect(instance.runs).toHaveLength(2);
      instance.last.fail(new Error('still broken'));
      expect(log.lines.at(-1)).toBe(
        "error instance 0 of model 'm' version 1 ended, another follows: failed to run warmup sample 'S': still broken; ",
      );
      time.advance(199);
      expect(instance.runs).toHaveLength(2);
      time.advance(1);
      instance.last.finish();
      expect(log.lines.at(-1)).toBe("info instance 0 of model 'm' version 1 runs again");
    });
  });

  it('tells how many answers wait for their turn, where ordering is preserved', () => {
    const model = startOne(instantInstance, { dynamicBatching: makeBatching({ preserveOrdering: true }) });
    expect(model.graph().queues).toEqual([{ name: 'order', queued: 0, limit: 16_384 }]);
    expect(startOne(instantInstance).graph().queues).toBeUndefined();
  });

  it('tells how many wait in each level', () => {
    const model = startOne(new HandInstance(), {
      dynamicBatching: makeBatching({ priorityLevels: 2n, defaultPriorityLevel: 2n, isStrict: true }),
    });
    ask(model);
    time.advance(0);
    for (const priority of [1n, 2n, 2n]) ask(model, makeRequest({ priority }));
    expect(model.graph().queues).toEqual([
      { name: 'level-1', queued: 1, limit: 1000 },
      { name: 'level-2', queued: 2, limit: 1000 },
    ]);
  });

  it('preserves the order of the batches of sequences, so that no answer waits for a sequence that waits', () => {
    const instances = [new HandInstance(), new HandInstance()];
    const [model] = start(
      instances.map((instance) => () => living(instance)),
      {
        dynamicBatching: undefined,
        sequenceBatching: {
          strategy: {
            kind: 'oldest',
            maxCandidateSequences: 1,
            preferredBatchSizes: [1],
            maxQueueDelayMs: 0,
            preserveOrdering: true,
          },
          maxIdleMs: 1000,
          controls: [],
          states: [],
          isIterative: false,
          endsIdleWithStep: false,
        },
      },
    );
    if (model === undefined) throw new Error('it did not start');
    const step = (sequenceId: bigint, fields: Partial<InferRequest>): Asked => ask(model, makeRequest({ sequenceId, ...fields }));
    const [first, second] = [step(1n, { sequenceStart: true }), step(2n, { sequenceStart: true })];
    // Without a slot: it runs once another sequence has ended.
    const third = step(3n, { sequenceStart: true, sequenceEnd: true });
    time.advance(0);
    instances[1]?.last.finish();
    expect([first.completed, second.completed]).toEqual([0, 0]);
    expect(model.graph().queues).toContainEqual({ name: 'order', queued: 1, limit: 16_384 });
    instances[0]?.last.finish();
    expect([first.completed, second.completed]).toEqual([1, 1]);
    const last = step(1n, { sequenceEnd: true });
    time.advance(0);
    instances[0]?.last.finish();
    time.advance(0);
    expect([last.completed, third.completed]).toEqual([1, 0]);
    instances[0]?.last.finish();
    expect(third.completed).toBe(1);
    step(2n, { sequenceEnd: true });
    time.advance(0);
    instances[1]?.last.finish();
  });

  it('goes through its layers, the outermost first', () => {
    const order: string[] = [];
    const mark =
      (name: string) =>
      (next: RunningModel['infer']): RunningModel['infer'] =>
      (request) => {
        order.push(name);
        return next(request);
      };
    const layered: RunningModel[] = [];
    subscription = runModel({
      spec: makeSpec(),
      placements: [{ placement: makePlacement(), open: () => living(instantInstance) }],
      layers: [mark('outer'), mark('inner')],
      sink: () => {},
      scheduler: time,
      log,
    }).subscribe((model) => layered.push(model));
    for (const model of layered) ask(model);
    time.advance(0);
    expect(order).toEqual(['outer', 'inner']);
  });

  it('counts in the events what succeeded', () => {
    const instance = new HandInstance();
    const model = startOne(instance, { dynamicBatching: makeBatching({ preferredBatchSizes: [8], maxQueueDelayMs: 6 }) });
    ask(model, makeRequest({}, [2, 4]));
    time.advance(4);
    const gone = ask(model);
    time.advance(2);
    gone.caller.unsubscribe();
    time.advance(1);
    instance.last.batch.times.inputEndMs = time.now();
    time.advance(5);
    instance.last.batch.times.outputStartMs = time.now();
    time.advance(2);
    instance.last.finish();
    expect(events).toEqual([
      {
        kind: 'batch-executed',
        model: 'm',
        version: '1',
        rows: 3,
        succeeded: 1,
        succeededRows: 2,
        queueMs: 6,
        computeInputMs: 1,
        computeInferMs: 5,
        computeOutputMs: 2,
        endedAtMs: expect.any(Number),
      },
    ]);
  });

  it('answers on the real clock, with a delay finer than a timer', async () => {
    const lives = concat(of(instantInstance), NEVER);
    const model$ = runModel({
      spec: makeSpec({ dynamicBatching: makeBatching({ preferredBatchSizes: [8], maxQueueDelayMs: 0.1 }) }),
      placements: [{ placement: makePlacement(), open: () => lives }],
      layers: [],
      sink: (event) => events.push(event),
      scheduler: machineScheduler,
      log,
    });
    const running = await new Promise<RunningModel>((resolve) => {
      subscription = model$.subscribe(resolve);
    });
    const answer = await firstValueFrom(running.infer(makeRequest({ id: 'x' })));
    expect(answer.id).toBe('x');
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ rows: 1 });
    expect(events[0]?.kind === 'batch-executed' && events[0].queueMs).toBeGreaterThanOrEqual(0.1);
  });
});
