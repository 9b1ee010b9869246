import type { Observable, Subscription } from 'rxjs';
import { concat, of, Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RateLimiter } from '../../../src/operators/rate-limiter/rate-limiter.ts';
import type { ResourceLimit } from '../../../src/operators/rate-limiter/resource-pools.ts';
import type { RunningModel } from '../../../src/operators/run-model.ts';
import { runModel } from '../../../src/operators/run-model.ts';
import type { Instance, Placement } from '../../../src/streams/inference/backend.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { ResourceDemand } from '../../../src/streams/inference/model-spec.ts';
import { HandInstance, living, makeBatching, makeLog, makePlacement, makeRequest, makeSpec, messageOf } from '../../support/model.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const takes = (name: string, count: number, isGlobal = false): ResourceDemand => ({ name, count, isGlobal });

const faultOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return error instanceof InferError ? messageOf(error) : `${error}`;
  }
  return 'none';
};

describe('RateLimiter', () => {
  let time: VirtualTime;
  let log: ReturnType<typeof makeLog>;
  let loaded: Subscription[];

  beforeEach(() => {
    time = new VirtualTime();
    log = makeLog();
    loaded = [];
  });

  afterEach(() => {
    for (const each of loaded) each.unsubscribe();
    expect(time.pending).toBe(0);
  });

  const limiter = (...resources: ResourceLimit[]): RateLimiter => new RateLimiter({ resources, log });

  const load = (rateLimiter: RateLimiter, ...placements: readonly (Partial<Placement> & { life?: () => Observable<Instance> })[]) => {
    const instances = placements.map(() => new HandInstance(2));
    const models: RunningModel[] = [];
    const subscription = runModel({
      spec: makeSpec({ dynamicBatching: undefined }),
      placements: placements.map((placement, index) => ({
        placement: makePlacement(placement),
        open: placement.life ?? (() => living(instances[index] ?? new HandInstance())),
      })),
      layers: [],
      rateLimiter,
      sink: () => {},
      scheduler: time,
      log,
    }).subscribe((model) => models.push(model));
    loaded.push(subscription);
    const [model] = models;
    if (model === undefined) throw new Error('it did not start');
    const ask = (count = 1): void => {
      for (let n = 0; n < count; n++) model.infer(makeRequest()).subscribe({ error: () => {} });
      time.advance(0);
    };
    const runs = (): readonly number[] => instances.map(({ running }) => running);
    const finish = (index = 0): void => instances[index]?.last.finish();
    return { model, ask, runs, finish, subscription };
  };

  it('keeps the two that take most from running together, and lets smaller ones', () => {
    const rateLimiter = limiter();
    const big = load(rateLimiter, { resources: [takes('R', 4)] });
    const other = load(rateLimiter, { resources: [takes('R', 4)] });
    const small = load(rateLimiter, { resources: [takes('R', 2)] }, { resources: [takes('R', 2)] });
    big.ask();
    other.ask();
    expect([big.runs(), other.runs()]).toEqual([[1], [0]]);
    expect(other.model.graph().queues).toEqual([{ name: 'rate-limiter', queued: 1, limit: 1 }]);
    big.finish();
    expect(other.runs()).toEqual([1]);
    other.finish();
    small.ask(2);
    expect(small.runs()).toEqual([1, 1]);
    expect(other.model.graph().queues).toEqual([{ name: 'rate-limiter', queued: 0, limit: 1 }]);
  });

  it('runs one batch at a time on an instance, whatever its capacity', () => {
    const model = load(limiter({ name: 'R', count: 9, device: undefined }), { resources: [takes('R', 1)] });
    model.ask(3);
    expect(model.runs()).toEqual([1]);
  });

  it('says of an instance what it says itself, and when its life ends', () => {
    const registration = limiter().register([makePlacement()]);
    const life = new Subject<Instance>();
    const seen: string[] = [];
    registration.seat(0, life).subscribe({
      next: (instance) => seen.push(`${instance.capacity} ${instance.isReady?.()}`),
      complete: () => seen.push('ended'),
    });
    const instance = new HandInstance(2);
    life.next(instance);
    for (const isReady of [true, false]) life.next(Object.assign(new HandInstance(2), { isReady: () => isReady }));
    life.complete();
    expect(seen).toEqual(['1 true', '1 true', '1 false', 'ended']);
  });

  it('hears from an instance whether it is ready, which one that says nothing is', () => {
    const instance = Object.assign(new HandInstance(), { isReady: () => false });
    const rateLimiter = limiter();
    expect(load(rateLimiter, {}).model.isReady()).toBe(true);
    expect(load(rateLimiter, { life: () => living(instance) }).model.isReady()).toBe(false);
  });

  it('counts a resource by device, and a global one in all', () => {
    const rateLimiter = limiter();
    const first = load(rateLimiter, { device: 0, resources: [takes('R', 1), takes('G', 1, true)] });
    const second = load(rateLimiter, { device: 1, resources: [takes('R', 1)] });
    const third = load(rateLimiter, { device: 1, resources: [takes('G', 1, true)] });
    for (const each of [first, second, third]) each.ask();
    expect([first.runs(), second.runs(), third.runs()]).toEqual([[1], [1], [0]]);
  });

  it('gives an instance of priority 2 half the turns of one of priority 1', () => {
    const model = load(limiter(), { priority: 1, resources: [takes('R', 1)] }, { priority: 2, resources: [takes('R', 1)] });
    const turns = [0, 0];
    model.ask(30);
    for (let n = 0; n < 30; n++) {
      const index = model.runs().indexOf(1);
      turns[index] = (turns[index] ?? 0) + 1;
      model.finish(index);
    }
    expect(turns).toEqual([20, 10]);
  });

  it('gives models turns by their executions and priorities', () => {
    const rateLimiter = limiter();
    const models = [1, 2].map((priority) => load(rateLimiter, { priority, resources: [takes('R', 1)] }));
    for (const { ask } of models) ask(30);
    const turns = [0, 0];
    for (let n = 0; n < 30; n++) {
      const index = models.findIndex(({ runs }) => runs()[0] === 1);
      turns[index] = (turns[index] ?? 0) + 1;
      models[index]?.finish();
    }
    expect(turns).toEqual([20, 10]);
  });

  it('lets models that hold something call one that needs nothing', () => {
    const rateLimiter = limiter();
    const [b, c] = [load(rateLimiter, { resources: [takes('R', 1)] }), load(rateLimiter, { resources: [takes('R', 1)] })];
    const called = load(rateLimiter, {});
    called.ask();
    called.finish();
    b.ask();
    c.ask();
    called.ask();
    expect([b.runs(), c.runs(), called.runs()]).toEqual([[1], [0], [1]]);
  });

  it('lets a batch grow while it waits for its turn', () => {
    const rateLimiter = limiter();
    const blocking = load(rateLimiter, { resources: [takes('R', 1)] });
    const instance = new HandInstance();
    const growing: RunningModel[] = [];
    loaded.push(
      runModel({
        spec: makeSpec({ dynamicBatching: makeBatching({ preferredBatchSizes: [1, 2, 3, 4], maxQueueDelayMs: 5000 }) }),
        placements: [{ placement: makePlacement({ resources: [takes('R', 1)] }), open: () => living(instance) }],
        layers: [],
        rateLimiter,
        sink: () => {},
        scheduler: time,
        log,
      }).subscribe((model) => growing.push(model)),
    );
    blocking.ask();
    for (let n = 0; n < 4; n++) {
      growing[0]?.infer(makeRequest()).subscribe({ error: () => {} });
      time.advance(10);
    }
    expect(instance.runs).toHaveLength(0);
    blocking.finish();
    expect(instance.runs.map(({ batch }) => batch.totalRows)).toEqual([4]);
  });

  it('takes limits from the list alone when there is one', () => {
    const listed: ResourceLimit[] = [
      { name: 'R', count: 3, device: undefined },
      { name: 'R', count: 6, device: 1 },
      { name: 'G', count: 5, device: 0 },
    ];
    const text = (name: string, limit: number, least: number): string =>
      `INVALID_ARGUMENT Resource count for "${name}" is limited to ${limit} which will prevent scheduling of one or more model instances, ` +
      `the minimum required count is ${least}`;
    const fault = (placement: Partial<Placement>): string => faultOf(() => limiter(...listed).register([makePlacement(placement)]));
    expect(fault({ resources: [takes('R', 3)] })).toBe('none');
    expect(fault({ resources: [takes('R', 4)] })).toBe(text('R', 3, 4));
    expect(fault({ resources: [takes('R', 6)], device: 1 })).toBe('none');
    expect(fault({ resources: [takes('G', 5, true)], device: 7 })).toBe('none');
    expect(fault({ resources: [takes('G', 1)], device: 1 })).toBe(text('G', 0, 1));
    expect(fault({ resources: [takes('r', 1)] })).toBe(text('r', 0, 1));
    expect(fault({ resources: [takes('R', 9)], isPassive: true })).toBe('none');
  });

  it('refuses a name that is a global resource here and a device’s there, until that one is gone', () => {
    const rateLimiter = limiter();
    const first = rateLimiter.register([makePlacement({ resources: [takes('R', 1, true)] })]);
    const second = (): unknown => rateLimiter.register([makePlacement({ resources: [takes('R', 9)] })]);
    expect(faultOf(second)).toBe(
      'INVALID_ARGUMENT Resource "R" is present as both global and device-specific resource in the model configuration.',
    );
    first.close();
    expect(faultOf(second)).toBe('none');
  });

  it('forgets what a model needed that is unloaded', () => {
    const rateLimiter = limiter();
    load(rateLimiter, { resources: [takes('R', 1, true)] }).subscription.unsubscribe();
    expect(load(rateLimiter, { resources: [takes('R', 1)] }).model.isReady()).toBe(true);
  });

  it('makes the limits anew when a model comes or goes, and says so', () => {
    const rateLimiter = limiter();
    const registration = rateLimiter.register([makePlacement({ resources: [takes('R', 2), takes('R', 1), takes('G', 1, true)] })]);
    rateLimiter.register([makePlacement({ resources: [takes('R', 1)] })]);
    registration.close();
    expect(log.lines).toEqual([
      "verbose 1 rate limiter: 3 of resource 'R' on device 0",
      "verbose 1 rate limiter: 1 of resource 'G' in all",
      "verbose 1 rate limiter: 1 of resource 'R' on device 0",
      "verbose 1 rate limiter: 0 of resource 'G' in all",
    ]);
  });

  it('keeps the turn of a model that waits while another of its instances starts', () => {
    const rateLimiter = limiter();
    const [holder, other] = [load(rateLimiter, { resources: [takes('R', 1)] }), load(rateLimiter, { resources: [takes('S', 1)] })];
    holder.ask();
    other.ask();
    other.finish();
    const lives: Subject<Instance>[] = [];
    const life = (): Observable<Instance> => {
      const own = new Subject<Instance>();
      lives.push(own);
      return concat(of(new HandInstance()), own);
    };
    const waiting = load(rateLimiter, { resources: [takes('R', 1)] }, { resources: [takes('R', 1)], life });
    lives[0]?.error(new Error('died'));
    waiting.ask();
    other.ask();
    time.advance(200);
    expect(lives).toHaveLength(2);
    expect(other.runs()).toEqual([0]);
  });

  it('grants nothing to a model that is gone', () => {
    const rateLimiter = limiter();
    const registration = rateLimiter.register([makePlacement()]);
    const seen: Instance[] = [];
    const life = registration.seat(0, living(new HandInstance())).subscribe((instance) => seen.push(instance));
    const leases = seen.map((resource) => ({ resource, isOpen: true, onEnded: undefined, release: () => {} }));
    registration.close();
    registration.turnstile.ask(leases, () => seen.splice(0));
    expect(seen).toHaveLength(1);
    life.unsubscribe();
  });

  it('lets a batch go for which there is enough once a bigger model is loaded', () => {
    const rateLimiter = limiter();
    const small = load(rateLimiter, { resources: [takes('R', 1)] }, { resources: [takes('R', 1)] });
    small.ask(2);
    expect(small.runs()).toEqual([1, 0]);
    rateLimiter.register([makePlacement({ resources: [takes('R', 2)] })]);
    expect(small.runs()).toEqual([1, 1]);
  });

  it('fails the load of a model that could never run', () => {
    const errors: InferError[] = [];
    const lives: unknown[] = [];
    runModel({
      spec: makeSpec(),
      placements: [
        {
          placement: makePlacement({ resources: [takes('R', 1)] }),
          open: () => {
            lives.push('opened');
            return living(new HandInstance());
          },
        },
      ],
      layers: [],
      rateLimiter: limiter({ name: 'S', count: 1, device: undefined }),
      sink: () => {},
      scheduler: time,
      log,
    }).subscribe({ error: (error) => errors.push(error) });
    expect(errors[0]?.message).toContain('Resource count for "R" is limited to 0');
    expect(lives).toEqual([]);
  });

  it('gives back what an instance held that has died, and takes the next one of its kind', () => {
    const rateLimiter = limiter();
    const dying = new Subject<Instance>();
    const registration = rateLimiter.register([makePlacement({ resources: [takes('R', 1)] })]);
    const seen: Instance[] = [];
    registration.seat(0, concat(of(new HandInstance()), dying)).subscribe({ next: (instance) => seen.push(instance), error: () => {} });
    expect(seen.map(({ capacity }) => capacity)).toEqual([1]);
    const other = load(rateLimiter, { resources: [takes('R', 1)] });
    const [instance] = seen;
    if (instance === undefined) throw new Error('it is not there');
    const granted: unknown[] = [];
    const lease = { resource: instance, isOpen: true, onEnded: undefined, release: () => {} };
    registration.turnstile.ask([lease], (given) => granted.push(given));
    other.ask();
    expect([granted.length, other.runs()]).toEqual([1, [0]]);
    (lease.onEnded as ((error: unknown) => void) | undefined)?.(new Error('died'));
    expect(other.runs()).toEqual([1]);
    dying.error(new Error('died'));
    registration.turnstile.ask([lease], (given) => granted.push(given));
    expect(registration.counters).toEqual({ asked: 2, granted: 1, withdrawn: 1, waiting: 0 });
  });
});
