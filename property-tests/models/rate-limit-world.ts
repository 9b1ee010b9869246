import { Observable, Subject, Subscription } from 'rxjs';
import { RateLimiter } from '../../src/operators/rate-limiter/rate-limiter.ts';
import type { ResourceLimit } from '../../src/operators/rate-limiter/resource-pools.ts';
import type { RunningModel } from '../../src/operators/run-model.ts';
import { runModel } from '../../src/operators/run-model.ts';
import type { Batch, Instance, Part } from '../../src/streams/inference/backend.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import type { ResourceDemand } from '../../src/streams/inference/model-spec.ts';
import { HandInstance, makeLog, makePlacement, makeRequest, makeSpec } from '../../test/support/model.ts';
import { VirtualTime } from '../../test/support/virtual-time.ts';

export interface InstanceSetting {
  readonly device: number;
  readonly priority: number;
  readonly resources: readonly ResourceDemand[];
}

export interface RateLimitSetting {
  /** Instances of each model. */
  readonly models: readonly (readonly InstanceSetting[])[];
  /** Empty for as much as the instance takes that takes most. */
  readonly limits: readonly ResourceLimit[];
}

class WatchedInstance extends HandInstance {
  readonly #seat: Seat;

  constructor(seat: Seat) {
    super(2);
    this.#seat = seat;
  }

  override run(batch: Batch): Observable<Part> {
    this.#seat.onBatch(batch);
    const parts$ = super.run(batch);
    return new Observable((parts) => {
      parts.add(() => this.#seat.onEnd());
      return parts$.subscribe(parts);
    });
  }
}

/** One instance of a model through all its lives, as the rule sees it. */
class Seat {
  readonly name: string;
  readonly model: Model;
  readonly setting: InstanceSetting;
  readonly #world: RateLimitWorld;
  /** Runs that have ended, since its model was loaded. */
  executions = 0;
  isRunning = false;
  instance: WatchedInstance | undefined;
  life: Subject<Instance> | undefined;

  constructor(world: RateLimitWorld, model: Model, setting: InstanceSetting) {
    this.#world = world;
    this.model = model;
    this.name = `${model.name}.${model.seats.length}`;
    this.setting = setting;
  }

  get turn(): number {
    return this.executions * this.setting.priority;
  }

  get isIdle(): boolean {
    return this.instance !== undefined && !this.isRunning;
  }

  /** By pool. */
  get demands(): ReadonlyMap<string, number> {
    const demands = new Map<string, number>();
    for (const { name, isGlobal, count } of this.setting.resources) {
      const pool = `${name} ${isGlobal ? 'global' : this.setting.device}`;
      if (count > 0) demands.set(pool, (demands.get(pool) ?? 0) + count);
    }
    return demands;
  }

  open(): Observable<Instance> {
    this.life = new Subject();
    this.#world.time.schedule(() => this.#rise(), 1);
    return this.life;
  }

  die(): void {
    this.instance = undefined;
    this.life?.error(new Error('died'));
  }

  onBatch(batch: Batch): void {
    if (this.isRunning) this.#world.faults.push(`${this.name} runs two batches at a time`);
    this.isRunning = true;
    this.#world.onBatch(this, batch);
  }

  onEnd(): void {
    this.isRunning = false;
    this.executions++;
  }

  #rise(): void {
    this.instance = new WatchedInstance(this);
    this.life?.next(this.instance);
  }
}

interface Asked {
  state: 'waiting' | 'running' | 'ended';
  /** A tick has ended since it came. */
  isKnown: boolean;
  cancel(): void;
}

interface Model {
  readonly name: string;
  readonly seats: Seat[];
  readonly asked: Asked[];
  running: RunningModel | undefined;
  loaded: Subscription | undefined;
}

/** Models on virtual time that share a rate limiter, and the faults found so far. */
export class RateLimitWorld {
  readonly time = new VirtualTime();
  readonly models: readonly Model[];
  /** Collected here and asserted by the property: what is thrown inside of a stream may never be seen. */
  readonly faults: string[] = [];
  readonly #limits: readonly ResourceLimit[];
  readonly #limiter: RateLimiter;

  constructor({ models, limits }: RateLimitSetting) {
    this.#limits = limits;
    this.#limiter = new RateLimiter({ resources: limits, log: makeLog() });
    this.models = models.map((settings, index) => {
      const model: Model = { name: 'ABC'[index] ?? '?', seats: [], asked: [], running: undefined, loaded: undefined };
      for (const setting of settings) model.seats.push(new Seat(this, model, setting));
      return model;
    });
    for (const model of this.models) this.load(model);
  }

  get runs(): readonly HandInstance['last'][] {
    return this.#loaded
      .flatMap(({ seats }) => seats)
      .flatMap(({ isRunning, instance }) => (isRunning && instance !== undefined ? [instance.last] : []));
  }

  load(model: Model): void {
    if (model.loaded !== undefined) return;
    for (const seat of model.seats) Object.assign(seat, { executions: 0, isRunning: false, instance: undefined });
    const expected = this.#faultOf([...this.#loaded, model]);
    let failure = '';
    // What the others run meanwhile may use what is there because of this one.
    if (expected === '') model.loaded = Subscription.EMPTY;
    model.loaded = runModel({
      spec: makeSpec({ name: model.name, dynamicBatching: undefined }),
      placements: model.seats.map((seat) => ({ placement: makePlacement(seat.setting), open: () => seat.open() })),
      layers: [],
      rateLimiter: this.#limiter,
      sink: () => {},
      scheduler: this.time,
      log: makeLog(),
    }).subscribe({
      next: (running) => {
        model.running = running;
      },
      error: (error: InferError) => {
        failure = error.message;
      },
    });
    if (failure !== '') model.loaded = undefined;
    if (failure !== expected) this.faults.push(`load of ${model.name}: '${failure}' in the place of '${expected}'`);
    this.time.advance(1);
  }

  unload(model: Model): void {
    const { loaded } = model;
    model.loaded = undefined;
    model.running = undefined;
    loaded?.unsubscribe();
    for (const seat of model.seats) {
      if (seat.isRunning) this.faults.push(`${seat.name} runs though its model is gone`);
    }
  }

  arrive({ running, asked }: Model): void {
    if (running === undefined) return;
    const request: Asked = { state: 'waiting', isKnown: false, cancel: () => {} };
    asked.push(request);
    const end = (): void => {
      request.state = 'ended';
    };
    const caller = running.infer(makeRequest({ id: `${asked.length - 1}` })).subscribe({ error: end, complete: end });
    request.cancel = () => {
      end();
      caller.unsubscribe();
    };
  }

  advance(ms: number): void {
    this.time.advance(ms);
    for (const { asked } of this.models) for (const each of asked) each.isKnown = true;
  }

  onBatch(seat: Seat, { requests }: Batch): void {
    if (seat.model.loaded === undefined) this.faults.push(`${seat.name} runs a batch though its model is gone`);
    for (const { id } of requests) {
      const asked = seat.model.asked[Number(id)];
      if (asked?.state !== 'waiting') this.faults.push(`${seat.name} runs what is ${asked?.state}`);
      if (asked !== undefined) asked.state = 'running';
    }
    for (const [pool, count] of seat.demands) {
      const used = this.#used(pool);
      if (used > this.#limit(pool)) this.faults.push(`${seat.name} takes ${count} of ${pool}: ${used} of ${this.#limit(pool)} are in use`);
    }
    if (seat.demands.size === 0) return;
    for (const other of this.#contenders()) {
      if (other.model === seat.model ? other.turn < seat.turn : other.demands.size > 0 && other.turn < seat.turn) {
        this.faults.push(`${seat.name} at ${seat.turn} runs before ${other.name} at ${other.turn}`);
      }
    }
  }

  /** What holds at the end of a tick. */
  check(): void {
    if (this.models.some(({ asked }) => asked.some(({ state, isKnown }) => state === 'waiting' && !isKnown))) return;
    const contenders = this.#contenders();
    const free = contenders.flatMap(({ model }) => model.seats).find(({ isIdle, demands }) => isIdle && demands.size === 0);
    if (free !== undefined) this.faults.push(`${free.name} waits though it needs nothing`);
    const firstTurn = Math.min(...contenders.map(({ turn }) => turn));
    const first = contenders.flatMap(({ model }) => model.seats).find((seat) => seat.isIdle && seat.turn === firstTurn && this.#fits(seat));
    if (first !== undefined) this.faults.push(`${first.name} waits beside enough of everything`);
    for (const model of this.#loaded) this.#checkGauge(model, contenders);
  }

  /** Lets everything come to its end. */
  finish(): void {
    for (let rounds = 0; rounds < 500; rounds++) {
      this.advance(1000);
      this.check();
      const { runs } = this;
      for (const run of runs) run.finish();
      if (runs.length === 0 && this.#contenders().length === 0) break;
    }
    for (const { name, asked } of this.models)
      if (asked.some(({ state }) => state !== 'ended')) this.faults.push(`${name} has not answered all`);
    // If anything had not come back, it could not run again.
    for (const model of this.#loaded) this.arrive(model);
    for (let rounds = 0; rounds < 20; rounds++) {
      this.advance(1000);
      for (const run of this.runs) run.finish();
    }
    for (const { name, asked } of this.#loaded)
      if (asked.some(({ state }) => state !== 'ended')) this.faults.push(`${name} no longer answers`);
    for (const model of this.models) this.unload(model);
    if (this.time.pending > 0) this.faults.push('a timer is left');
  }

  get #loaded(): readonly Model[] {
    return this.models.filter(({ loaded }) => loaded !== undefined);
  }

  /** Of each model that has something to run, the free instance whose turn it is. */
  #contenders(): readonly Seat[] {
    return this.#loaded.flatMap(({ asked, seats, running }) => {
      const waits = running !== undefined && asked.some(({ state, isKnown }) => state === 'waiting' && isKnown);
      const idle = waits ? seats.filter(({ isIdle }) => isIdle) : [];
      return idle.sort((a, b) => a.turn - b.turn).slice(0, 1);
    });
  }

  #checkGauge(model: Model, contenders: readonly Seat[]): void {
    const gauge = model.running?.graph().queues?.find((queue) => queue.name === 'rate-limiter');
    if (gauge === undefined) return;
    const mustWait = contenders.some((seat) => seat.model === model);
    const mayWait = model.seats.some(({ isIdle }) => isIdle) && model.asked.some(({ state }) => state === 'waiting');
    if (gauge.queued < (mustWait ? 1 : 0) || gauge.queued > (mayWait ? 1 : 0) || gauge.limit !== model.seats.length) {
      this.faults.push(`${gauge.queued} of ${gauge.limit} are said to wait for ${model.name}`);
    }
  }

  #used(pool: string): number {
    return this.models
      .flatMap(({ seats }) => seats)
      .reduce((sum, { isRunning, demands }) => sum + (isRunning ? (demands.get(pool) ?? 0) : 0), 0);
  }

  #limit(pool: string, models: readonly Model[] = this.#loaded): number {
    if (this.#limits.length === 0) {
      return models.flatMap(({ seats }) => seats).reduce((most, { demands }) => Math.max(most, demands.get(pool) ?? 0), 0);
    }
    const [name, device] = pool.split(' ');
    const listed = this.#limits.filter(
      (each) => each.name === name && (device === 'global' || each.device === undefined || `${each.device}` === device),
    );
    return listed.reduce((most, { count }) => Math.max(most, count), 0);
  }

  #fits({ demands }: Seat): boolean {
    return [...demands].every(([pool, count]) => this.#used(pool) + count <= this.#limit(pool));
  }

  /** Why these models cannot be loaded together. */
  #faultOf(models: readonly Model[]): string {
    const demands = models.flatMap(({ seats }) => seats).flatMap((seat) => [...seat.demands]);
    const pools = [...new Set(demands.map(([pool]) => pool))];
    for (const pool of pools) {
      const [name, device] = pool.split(' ');
      if (device !== 'global' || !pools.some((each) => each.startsWith(`${name} `) && each !== pool)) continue;
      return `Resource "${name}" is present as both global and device-specific resource in the model configuration.`;
    }
    for (const pool of pools) {
      const most = Math.max(...demands.filter(([each]) => each === pool).map(([, count]) => count));
      const limit = this.#limit(pool, models);
      if (most <= limit) continue;
      const text = `Resource count for "${pool.split(' ')[0]}" is limited to ${limit} which will prevent scheduling of one or more model instances`;
      return `${text}, the minimum required count is ${most}`;
    }
    return '';
  }
}
