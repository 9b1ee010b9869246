import type { Observable } from 'rxjs';
import { Subject } from 'rxjs';
import type { RunningModel } from '../../src/operators/run-model.ts';
import { runModel } from '../../src/operators/run-model.ts';
import type { Batch, Instance, Part } from '../../src/streams/inference/backend.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import type { ModelSpec, QueuePolicy } from '../../src/streams/inference/model-spec.ts';
import { HandInstance, makeInput, makeLog, makePlacement, makeRequest, makeSpec } from '../../test/support/model.ts';
import { VirtualTime } from '../../test/support/virtual-time.ts';
import type { BatchingSetting } from './batching-setting.ts';
import { batchingOf, deadlineOf, isStrict, levelOf, policyOf } from './batching-setting.ts';

type End = 'answered' | 'failed' | 'over limit' | 'timed out' | 'cancelled';

export interface Arrival {
  readonly rows: number;
  readonly width: number;
  /** As the client writes them; 0 for none. */
  readonly priority: number;
  readonly timeoutMs: number;
}

/** What should become of a request, and what did. */
interface Asked {
  readonly n: number;
  readonly rows: number;
  readonly width: number;
  readonly arrivedMs: number;
  readonly level: number;
  readonly policy: QueuePolicy;
  readonly deadlineMs: number;
  state: 'arriving' | 'waiting' | 'running' | End;
  ends: number;
  cancel(): void;
}

/** Notes what is wrong with each batch that it is given. */
class WatchedInstance extends HandInstance {
  readonly #world: BatchingWorld;
  /** From its emission to its death: one that is still starting takes nothing. */
  isAlive = false;

  constructor(world: BatchingWorld, capacity: number) {
    super(capacity);
    this.#world = world;
  }

  override run(batch: Batch): Observable<Part> {
    this.#world.onBatch(batch, this);
    return super.run(batch);
  }
}

/** After a deadline a tick passes: about a microsecond. */
const tickMs = 2 ** -10;
/** Sums of the same times differ by less. */
const roundingMs = 1e-6;

/** A running model on virtual time, what it was asked, and the faults found so far. */
export class BatchingWorld {
  readonly setting: BatchingSetting;
  readonly time = new VirtualTime();
  readonly asked: Asked[] = [];
  readonly batches: (readonly number[])[] = [];
  readonly instances: WatchedInstance[] = [];
  /** Collected here and asserted by the property: what is thrown inside of a stream may never be seen. */
  readonly faults: string[] = [];
  readonly #spec: ModelSpec;
  /** Batches that an instance may have at once. */
  readonly #permits: number;
  readonly #lives = new Map<WatchedInstance, Subject<Instance>>();
  #model: RunningModel | undefined;
  #events = 0;
  #answeredRows = 0;
  readonly stop: () => void;

  constructor(setting: BatchingSetting) {
    this.setting = setting;
    this.#permits = setting.maxQueueDelayMs !== undefined && isStrict(setting) ? 1 : setting.capacity;
    this.#spec = makeSpec({
      maxBatchSize: setting.maxBatchSize,
      inputs: [makeInput({ dims: [-1] })],
      dynamicBatching: batchingOf(setting),
      maxQueueSize: setting.policies.reduce((sum, { maxQueueSize }) => sum + maxQueueSize, 0),
    });
    const placements = Array.from({ length: setting.instances }, () => ({ placement: makePlacement(), open: () => this.#open() }));
    const running = runModel({
      spec: this.#spec,
      placements,
      layers: [],
      sink: (event) => {
        if (event.kind !== 'batch-executed') return;
        this.#events += event.succeededRows;
      },
      scheduler: this.time,
      log: makeLog(),
    }).subscribe({
      next: (model) => {
        this.#model = model;
      },
      error: (error) => this.faults.push(`the model ended: ${error}`),
    });
    for (const instance of this.instances) this.#rise(instance);
    this.stop = () => running.unsubscribe();
  }

  get model(): RunningModel {
    if (this.#model === undefined) throw new Error('the model did not start');
    return this.#model;
  }

  /** In the order in which they should go. */
  get waiting(): readonly Asked[] {
    return this.asked.filter(({ state }) => state === 'waiting').sort((a, b) => this.#order(a, b));
  }

  numbersOf(state: Asked['state']): readonly number[] {
    return this.asked.filter((asked) => asked.state === state).map(({ n }) => n);
  }

  /** Batches that run now, in order of their start within each instance. */
  get runs(): readonly WatchedInstance['last'][] {
    return this.instances.flatMap((instance) => (instance.isAlive ? instance.runs.filter((run) => this.#isRunning(run.batch)) : []));
  }

  get freePermits(): number {
    return this.instances.reduce((free, instance) => free + (instance.isAlive ? this.#permits - instance.running : 0), 0);
  }

  arrive({ rows, width, priority, timeoutMs }: Arrival): void {
    const n = this.asked.length;
    const arrivedMs = this.time.now();
    const level = this.setting.maxQueueDelayMs === undefined ? 0 : levelOf(this.setting, priority);
    const policy = policyOf(this.setting, level);
    const deadlineMs = this.setting.maxQueueDelayMs === undefined ? Number.POSITIVE_INFINITY : deadlineOf(policy, arrivedMs, timeoutMs);
    const others = this.waiting.filter((other) => other.level === level && !(this.#isPast(other) && policy.timeoutAction === 'REJECT'));
    const wasFull = others.length >= policy.maxQueueSize;
    const wasFree = this.freePermits > 0;
    const asked: Asked = { n, rows, width, arrivedMs, level, policy, deadlineMs, state: 'arriving', ends: 0, cancel: () => {} };
    this.asked.push(asked);
    const end = (state: End): void => {
      asked.state = state;
      asked.ends++;
    };
    const fields = { id: `${n}`, priority: BigInt(priority), timeoutMicroseconds: BigInt(Math.round(timeoutMs * 1000)) };
    const caller = this.model.infer(makeRequest(fields, [rows, width], n % 256)).subscribe({
      next: ({ id, outputs }) => {
        const bytes = outputs.get('OUT')?.bytes;
        if (id !== `${n}` || bytes?.length !== rows * width || bytes[0] !== n % 256) this.faults.push(`${n} got the answer of another`);
        this.#answeredRows += rows;
      },
      error: (error: InferError) => {
        if (error.message === 'Request timeout expired') this.#checkTimeout(asked);
        end(error.reason !== 'REJECTED' ? 'failed' : error.message === 'Request timeout expired' ? 'timed out' : 'over limit');
      },
      complete: () => end('answered'),
    });
    asked.cancel = () => {
      if (asked.state !== 'waiting' && asked.state !== 'running') return;
      end('cancelled');
      caller.unsubscribe();
    };
    if (asked.state === 'over limit' && !wasFull) this.faults.push(`${n} was rejected beside room`);
    if (asked.state !== 'over limit' && wasFull && !wasFree) this.faults.push(`${n} was let into a full level`);
    if (asked.state === 'arriving') asked.state = 'waiting';
  }

  onBatch({ requests, totalRows }: Batch, instance: WatchedInstance): void {
    const batch = requests.map(({ id }) => this.asked[Number(id)]).filter((asked) => asked !== undefined);
    this.batches.push(batch.map(({ n }) => n));
    const names = batch.map(({ n }) => n).join();
    const rows = batch.reduce((sum, asked) => sum + asked.rows, 0);
    if (rows !== totalRows || rows > this.setting.maxBatchSize) this.faults.push(`batch ${names} has ${rows} rows and says ${totalRows}`);
    if (new Set(batch.map(({ width }) => width)).size > 1) this.faults.push(`batch ${names} mixes shapes`);
    if (this.setting.maxQueueDelayMs === undefined && batch.length > 1) this.faults.push(`batch ${names} of a model that does not batch`);
    if (instance.running >= this.#permits || !instance.isAlive) this.faults.push(`batch ${names} beyond the capacity of its instance`);
    const first = this.waiting.slice(0, batch.length).map(({ n }) => n);
    if (first.join() !== names) this.faults.push(`batch ${names} goes before ${first}`);
    for (const asked of batch) {
      if (asked.state !== 'waiting') this.faults.push(`${asked.n} runs though it is ${asked.state}`);
      if (this.#isPast(asked) && asked.policy.timeoutAction === 'REJECT') this.faults.push(`${asked.n} runs after its time-out`);
      asked.state = 'running';
    }
  }

  /** To the moment at which the next request must have gone, if an instance was free. */
  advanceToDelay(): void {
    const [next] = this.waiting;
    if (next === undefined) return;
    this.time.advance(Math.max(0, next.arrivedMs + (this.setting.maxQueueDelayMs ?? 0) - this.time.now()));
  }

  /** To the last moment of the request whose time is up next. */
  advanceToTimeout(): void {
    const next = Math.min(...this.waiting.filter((asked) => !this.#isPast(asked)).map(({ deadlineMs }) => deadlineMs));
    this.time.advance(Number.isFinite(next) ? Math.max(0, next - this.time.now()) : 0);
  }

  /** The instance dies; another follows after a pause. */
  die(index: number): void {
    const alive = this.instances.filter(({ isAlive }) => isAlive);
    const dying = alive[index % Math.max(1, alive.length)];
    if (dying === undefined) return;
    dying.isAlive = false;
    this.#lives.get(dying)?.error(new Error('died'));
  }

  /** What holds at every moment. */
  checkAlways(): void {
    const { stages, instances } = this.model.graph();
    for (const { name, in: entered, out, failed, queued, running } of stages) {
      if (entered !== out + failed + queued + running) this.faults.push(`stage ${name} lost count`);
    }
    const queue = stages.find(({ name }) => name === 'queue');
    const run = stages.find(({ name }) => name === 'run');
    const count = (state: Asked['state']): number => this.numbersOf(state).length;
    if (queue?.queued !== count('waiting')) this.faults.push(`${queue?.queued} are said to wait, ${count('waiting')} do`);
    if (run?.running !== count('running')) this.faults.push(`${run?.running} are said to run, ${count('running')} do`);
    if (run?.out !== count('answered')) this.faults.push(`${run?.out} are said to have been answered, ${count('answered')} were`);
    if (queue !== undefined && queue.queued > queue.limit) this.faults.push('more wait than may');
    if (instances.busy !== this.runs.length) this.faults.push(`${instances.busy} batches are said to run, ${this.runs.length} do`);
    for (const { n, ends, state } of this.asked) {
      if (ends !== (state === 'waiting' || state === 'running' ? 0 : 1)) this.faults.push(`${n} is ${state} and ended ${ends} times`);
    }
  }

  /** What holds at the end of a tick. */
  checkTime(): void {
    const nowMs = this.time.now();
    for (const { n, policy, deadlineMs } of this.waiting) {
      if (policy.timeoutAction === 'REJECT' && nowMs > deadlineMs + tickMs + roundingMs) this.faults.push(`${n} waits past its time-out`);
    }
    const [next] = this.waiting;
    if (next === undefined || this.freePermits === 0) return;
    const delayMs = this.setting.maxQueueDelayMs ?? 0;
    // As the planner does, and not as an age: so both round alike.
    if (nowMs >= next.arrivedMs + delayMs) this.faults.push(`${next.n} waits ${nowMs - next.arrivedMs} ms beside a free instance`);
  }

  /** Lets everything that is inside come to its end. */
  finish(): void {
    for (let rounds = 0; rounds < 500; rounds++) {
      this.time.advance(1000);
      this.checkTime();
      for (const run of this.runs) run.finish();
      if (this.waiting.length === 0 && this.runs.length === 0) break;
    }
    this.checkAlways();
    const { stages, instances } = this.model.graph();
    if (stages.some(({ queued, running }) => queued + running > 0) || instances.busy > 0) this.faults.push('something is left inside');
    if (instances.alive !== this.setting.instances) this.faults.push('an instance did not come back');
    if (this.#events !== this.#answeredRows) this.faults.push(`events tell of ${this.#events} rows, ${this.#answeredRows} were answered`);
    this.stop();
    if (this.time.pending > 0) this.faults.push('a timer is left');
  }

  #isPast({ deadlineMs }: Asked): boolean {
    return this.time.now() > deadlineMs;
  }

  /** By level; those that were delayed behind the others, the first to be delayed first. */
  #order(a: Asked, b: Asked): number {
    const late = (asked: Asked): number => (this.#isPast(asked) ? asked.deadlineMs : 0);
    return a.level - b.level || late(a) - late(b) || a.n - b.n;
  }

  #checkTimeout(asked: Asked): void {
    const { n, policy, deadlineMs, state } = asked;
    if (state !== 'waiting' || policy.timeoutAction !== 'REJECT') this.faults.push(`${n} timed out though it is ${state}`);
    if (!this.#isPast(asked)) this.faults.push(`${n} timed out before its time`);
    if (this.time.now() > deadlineMs + tickMs + roundingMs) this.faults.push(`${n} timed out ${this.time.now() - deadlineMs} ms late`);
  }

  #open(): Observable<Instance> {
    const life = new Subject<Instance>();
    const instance = new WatchedInstance(this, this.setting.capacity);
    this.instances.push(instance);
    this.#lives.set(instance, life);
    // A later life begins by itself.
    if (this.#model !== undefined) this.time.schedule(() => this.#rise(instance), 1);
    return life;
  }

  #rise(instance: WatchedInstance): void {
    instance.isAlive = true;
    this.#lives.get(instance)?.next(instance);
  }

  #isRunning({ requests }: Batch): boolean {
    return requests.some(({ id }) => this.asked[Number(id)]?.state === 'running');
  }
}
