/** One model's queue as Triton describes it. Times are whole microseconds, `0` stands for none. */
export interface RuleSetting {
  readonly maxBatchSize: number;
  /** Ascending. */
  readonly preferredBatchSizes: readonly number[];
  readonly delayUs: number;
  readonly instances: number;
  /** 0 for a model without levels. */
  readonly priorityLevels: number;
  readonly defaultPriorityLevel: number;
  /** By level; `0` where the model has no levels. */
  readonly policies: ReadonlyMap<number, RulePolicy>;
}

export interface RulePolicy {
  readonly timeoutAction: 'REJECT' | 'DELAY';
  readonly defaultTimeoutUs: number;
  readonly allowTimeoutOverride: boolean;
  readonly maxQueueSize: number;
}

export interface RuleRequest {
  readonly n: number;
  readonly rows: number;
  readonly shape: number;
  /** As the client wrote them. */
  readonly priority: number;
  readonly timeoutUs: number;
}

interface Queued extends RuleRequest {
  readonly batcherStartUs: number;
  /** 0 for none. */
  readonly deadlineUs: number;
}

interface Level {
  readonly policy: RulePolicy;
  queue: Queued[];
  delayed: Queued[];
}

/** Where in the policy queue the scan stands: how many requests are behind it. */
interface Cursor {
  pendingCount: number;
  oldestUs: number;
}

/**
 * Triton's dynamic batcher once more, slow and straight: its steps and its names, with arrays and whole numbers. Two things differ, as they do in
 * Weir on purpose: an expired request leaves when it expires and not when somebody looks, and a payload is formed only for an instance that is
 * free, so that nothing is ever added to one (`payload_bs` is 0).
 */
export class TritonRule {
  readonly #setting: RuleSetting;
  readonly #levels = new Map<number, Level>();
  #nowUs = 0;
  #free: number;
  readonly batches: (readonly number[])[] = [];
  readonly overLimit: number[] = [];
  readonly expired: number[] = [];

  constructor(setting: RuleSetting) {
    this.#setting = setting;
    this.#free = setting.instances;
    for (const [number, policy] of [...setting.policies].sort(([a], [b]) => a - b)) {
      this.#levels.set(number, { policy, queue: [], delayed: [] });
    }
  }

  get waiting(): readonly number[] {
    return this.#inOrder().map(({ n }) => n);
  }

  enqueue(request: RuleRequest): void {
    const { priorityLevels, defaultPriorityLevel } = this.#setting;
    const isOutside = request.priority === 0 || request.priority > priorityLevels;
    const level = this.#levels.get(priorityLevels === 0 ? 0 : isOutside ? defaultPriorityLevel : request.priority);
    if (level === undefined) throw new Error('a level without policy');
    const { policy } = level;
    if (level.queue.length + level.delayed.length >= policy.maxQueueSize) {
      this.overLimit.push(request.n);
      return;
    }
    let timeoutUs = policy.defaultTimeoutUs;
    if (policy.allowTimeoutOverride && request.timeoutUs !== 0 && request.timeoutUs < timeoutUs) timeoutUs = request.timeoutUs;
    const deadlineUs = timeoutUs === 0 ? 0 : this.#nowUs + timeoutUs;
    level.queue.push({ ...request, batcherStartUs: this.#nowUs, deadlineUs });
    this.#look();
  }

  cancel(n: number): void {
    for (const level of this.#levels.values()) {
      level.queue = level.queue.filter((one) => one.n !== n);
      level.delayed = level.delayed.filter((one) => one.n !== n);
    }
    this.#look();
  }

  instanceFree(): void {
    this.#free++;
    this.#look();
  }

  /** Stops at every moment at which something might happen. */
  advance(byUs: number): void {
    const untilUs = this.#nowUs + byUs;
    for (;;) {
      const moments = this.#inOrder().flatMap(({ batcherStartUs, deadlineUs }) => [
        batcherStartUs + this.#setting.delayUs,
        ...(deadlineUs === 0 ? [] : [deadlineUs + 1]),
      ]);
      const next = Math.min(untilUs, ...moments.filter((moment) => moment > this.#nowUs));
      this.#nowUs = next;
      this.#look();
      if (next === untilUs) return;
    }
  }

  #inOrder(): readonly Queued[] {
    return [...this.#levels.values()].flatMap(({ queue, delayed }) => [...queue, ...delayed]);
  }

  #look(): void {
    this.#applyPolicies();
    while (this.#free > 0) {
      const pendingCount = this.#getDynamicBatch();
      if (pendingCount === 0) return;
      this.#free--;
      this.batches.push(this.#dequeue(pendingCount));
    }
  }

  /** Of several that have expired, in the order in which they did. */
  #applyPolicies(): void {
    for (const level of this.#levels.values()) {
      const isExpired = ({ deadlineUs }: Queued): boolean => deadlineUs !== 0 && this.#nowUs > deadlineUs;
      const expired = level.queue.filter(isExpired).sort((a, b) => a.deadlineUs - b.deadlineUs || a.n - b.n);
      level.queue = level.queue.filter((one) => !isExpired(one));
      if (level.policy.timeoutAction === 'REJECT') this.expired.push(...expired.map(({ n }) => n));
      else level.delayed.push(...expired.map((one) => ({ ...one, deadlineUs: 0 })));
    }
  }

  #dequeue(count: number): readonly number[] {
    const batch = this.#inOrder()
      .slice(0, count)
      .map(({ n }) => n);
    for (const level of this.#levels.values()) {
      level.queue = level.queue.filter(({ n }) => !batch.includes(n));
      level.delayed = level.delayed.filter(({ n }) => !batch.includes(n));
    }
    return batch;
  }

  /** How many requests go now; 0 for a wait. */
  #getDynamicBatch(): number {
    const { maxBatchSize, preferredBatchSizes, delayUs } = this.#setting;
    const queue = this.#inOrder();
    const maxPreferred = preferredBatchSizes.at(-1) ?? 0;
    const cursor: Cursor = { pendingCount: 0, oldestUs: Number.POSITIVE_INFINITY };
    let mark = 0;
    let pendingBatchSize = 0;
    let bestPreferred = 0;
    let sendNow = false;

    while (cursor.pendingCount < queue.length) {
      const request = queue[cursor.pendingCount];
      if (request === undefined) break;
      if (cursor.pendingCount > 0) {
        if (pendingBatchSize + request.rows > maxPreferred && bestPreferred === 0) {
          bestPreferred = pendingBatchSize;
          mark = cursor.pendingCount;
        }
        if (pendingBatchSize + request.rows > maxBatchSize) {
          sendNow = true;
          break;
        }
        if (request.shape !== queue[0]?.shape) {
          sendNow = true;
          break;
        }
      }
      pendingBatchSize += request.rows;
      cursor.pendingCount++;
      cursor.oldestUs = Math.min(cursor.oldestUs, request.batcherStartUs);
      if (preferredBatchSizes.includes(pendingBatchSize)) {
        bestPreferred = pendingBatchSize;
        mark = cursor.pendingCount;
      }
    }

    const ageUs = this.#nowUs - cursor.oldestUs;
    const delayIsExceeded = delayUs !== 0 && ageUs >= delayUs;
    if (bestPreferred !== 0 && !delayIsExceeded) return mark;
    if (cursor.pendingCount === 0) return 0;
    if (sendNow || pendingBatchSize >= maxPreferred) return cursor.pendingCount;
    if (delayIsExceeded || delayUs === 0) return cursor.pendingCount;
    return 0;
  }
}
