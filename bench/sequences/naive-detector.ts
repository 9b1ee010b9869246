import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { NaiveAnswer, NaiveJob } from './naive-worker.ts';

/** What a sequence carries from one step to the next, and the steps that wait for the one that runs. */
interface Sequence {
  context: Float32Array;
  state: Float32Array;
  isRunning: boolean;
  readonly waiting: Waiting[];
}

interface Waiting {
  readonly audio: Float32Array;
  readonly onAnswer: (speech: Float32Array) => void;
}

/** The voice detector as one writes it first: a queue for each sequence, one worker, one request at a time, messages that are copied. */
export class NaiveDetector {
  readonly #worker: Worker;
  readonly #sequences = new Map<number, Sequence>();
  readonly #jobs = new Map<number, { readonly sequence: Sequence; readonly waiting: Waiting }>();
  #nextJob = 0;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (answer: NaiveAnswer) => this.#answer(answer));
  }

  static async open(model: string): Promise<NaiveDetector> {
    const worker = new Worker(new URL('./naive-worker.ts', import.meta.url), { workerData: model });
    await once(worker, 'message');
    return new NaiveDetector(worker);
  }

  ask(id: number, isStart: boolean, audio: Float32Array, onAnswer: Waiting['onAnswer']): void {
    let sequence = this.#sequences.get(id);
    if (sequence === undefined || isStart) {
      sequence = { context: new Float32Array(64), state: new Float32Array(256), isRunning: false, waiting: [] };
      this.#sequences.set(id, sequence);
    }
    sequence.waiting.push({ audio, onAnswer });
    this.#next(sequence);
  }

  #next(sequence: Sequence): void {
    const waiting = sequence.isRunning ? undefined : sequence.waiting.shift();
    if (waiting === undefined) return;
    sequence.isRunning = true;
    const job: NaiveJob = { job: this.#nextJob++, audio: waiting.audio, context: sequence.context, state: sequence.state };
    this.#jobs.set(job.job, { sequence, waiting });
    this.#worker.postMessage(job);
  }

  #answer({ job, speech, context, state }: NaiveAnswer): void {
    const found = this.#jobs.get(job);
    if (found === undefined) return;
    this.#jobs.delete(job);
    const { sequence, waiting } = found;
    sequence.context = context;
    sequence.state = state;
    sequence.isRunning = false;
    waiting.onAnswer(speech);
    this.#next(sequence);
  }
}
