import { finalize, type Observable } from 'rxjs';
import type { Batch, Part } from '../../src/streams/inference/backend.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { HandInstance, makePart } from '../../test/support/model.ts';
import type { Asked } from './sequence-asked.ts';
import { nextStates, readStates, type States, sameStates, spoil, writeStates } from './sequence-states.ts';

interface Watcher {
  onBatch(batch: Batch, instance: WatchedInstance): readonly (Asked | undefined)[];
  onAnswering(asked: Asked): void;
  onRescheduled(asked: Asked): void;
  onReleased(flight: Flight): void;
  readonly faults: string[];
  readonly isStopped: boolean;
  readonly setting: { readonly hasStates: boolean; readonly maxBatchSize: number };
}

/** Tells the world of each batch that begins and ends. */
export class WatchedInstance extends HandInstance {
  readonly name: string;
  readonly #world: Watcher;
  readonly flights: Flight[] = [];
  /** From its emission to its death: one that is still starting takes nothing. */
  isAlive = false;

  constructor(world: Watcher, name: string, capacity: number) {
    super(capacity);
    this.#world = world;
    this.name = name;
  }

  override run(batch: Batch): Observable<Part> {
    const flight = new Flight(this.#world, this, batch, this.#world.onBatch(batch, this));
    this.flights.push(flight);
    return super.run(batch).pipe(
      finalize(() => {
        flight.end();
        this.#world.onReleased(flight);
      }),
    );
  }
}

export const badStepText = 'a bad step';

/** A batch that runs, and the model that computes its answers when a test says so. */
export class Flight {
  readonly #world: Watcher;
  readonly #instance: WatchedInstance;
  readonly #batch: Batch;
  readonly #received: (States | undefined)[];
  readonly #answered = new Set<number>();
  /** By row; undefined for one that only fills the batch up. */
  readonly asked: readonly (Asked | undefined)[];
  isOver = false;
  #isEnding = false;

  constructor(world: Watcher, instance: WatchedInstance, batch: Batch, asked: readonly (Asked | undefined)[]) {
    this.#world = world;
    this.#instance = instance;
    this.#batch = batch;
    this.asked = asked;
    this.#received = world.setting.hasStates ? batch.requests.map(({ inputs }) => readStates(inputs)) : [];
  }

  /** Whoever runs on leaves states behind: no batch is cancelled because nobody waits for its answers any more. */
  end(): void {
    this.isOver = true;
    if (this.#isEnding || this.#world.isStopped || !this.#instance.isAlive) return;
    this.#world.faults.push(`batch ${this.asked.map((asked) => asked?.n ?? '-')} was cancelled`);
  }

  /** Answers one request of those that have no answer yet, and leaves the batch running. */
  answer(row: number): void {
    const request = this.#batch.requests[row];
    if (this.isOver || request === undefined || this.#answered.has(row)) return;
    this.#answered.add(row);
    const asked = this.asked[row];
    const part = makePart(row, { outputs: this.#outputs(row, request, asked) });
    if (asked !== undefined) this.#world.onAnswering(asked);
    this.#run.answer(part);
    spoil(part.outputs);
    this.#checkReceived(row, request);
  }

  /** The request runs again as the next step; with an answer, or without. */
  reschedule(row: number, kind: 'answering' | 'silent'): void {
    const request = this.#batch.requests[row];
    const asked = this.asked[row];
    if (this.isOver || request === undefined || asked === undefined || this.#answered.has(row)) return;
    this.#answered.add(row);
    const outputs = this.#outputs(row, request, asked);
    if (kind === 'silent' && !this.#world.setting.hasStates) outputs.clear();
    this.#world.onAnswering(asked);
    this.#run.answer(makePart(row, { outputs, isRescheduled: true }));
    spoil(outputs);
    this.#world.onRescheduled(asked);
  }

  failOne(row: number, error: NonNullable<Part['error']>): void {
    const asked = this.asked[row];
    if (this.isOver || this.#answered.has(row) || this.#batch.requests[row] === undefined) return;
    this.#answered.add(row);
    this.#run.answer(makePart(row, { error }));
    if (asked?.state === 'failed' && asked.message !== error.message) this.#world.faults.push(`${asked.n} failed with: ${asked.message}`);
  }

  /** Answers whom it has not answered yet, from `first` on and around, and ends. */
  finish(first = 0): void {
    const { length } = this.#batch.requests;
    for (let step = 0; step < length; step++) this.answer((first + step) % length);
    this.#isEnding = true;
    if (!this.isOver) this.#run.complete();
  }

  fail(error: Error): void {
    this.#isEnding = true;
    if (!this.isOver) this.#run.fail(error);
  }

  /** Rows of requests that have no answer yet. */
  get open(): readonly number[] {
    return this.asked.flatMap((asked, row) => (asked === undefined || this.#answered.has(row) ? [] : [row]));
  }

  get #run(): WatchedInstance['last'] {
    const run = this.#instance.runs.find(({ batch }) => batch === this.#batch);
    if (run === undefined) throw new Error('the batch was never subscribed to');
    return run;
  }

  /** Its inputs are the running step's until the batch has ended. */
  #checkReceived(row: number, { inputs }: InferRequest): void {
    const received = this.#received[row];
    if (received === undefined || this.isOver || sameStates(received, readStates(inputs))) return;
    this.#world.faults.push(`the states of row ${row} changed while it ran`);
  }

  #outputs(row: number, { inputs }: InferRequest, asked: Asked | undefined): Map<string, Tensor> {
    const outputs = new Map<string, Tensor>();
    const input = inputs.get('IN');
    if (input !== undefined) outputs.set('OUT', new Tensor('UINT8', input.shape, input.bytes.slice()));
    const received = this.#received[row];
    if (received === undefined) return outputs;
    writeStates(outputs, nextStates(received, asked?.n ?? 0), this.#world.setting.maxBatchSize > 0);
    return outputs;
  }
}
