import type { Subscription } from 'rxjs';
import { AnswersAhead } from '../../streams/inference/answers-ahead.ts';
import { type Frame, frameFlags } from './frames.ts';

/** As `ModelCall.encode` of `stub/weir_stub/calls.py` writes it. */
export interface CallHead {
  readonly model: string;
  readonly version: number;
  readonly id: string;
  readonly correlation: string;
  readonly isText: boolean;
  readonly flags: number;
  readonly timeout: string;
  readonly parameters: string;
  readonly outputs: readonly string[];
  /** Name, number of the datatype, shape, segment of this server's memory + 1 or 0, offset, bytes. */
  readonly inputs: readonly (readonly [string, number, readonly number[], number, number, number])[];
  readonly batch: number;
}

/** A request that a model's process makes of another model, and how far that is ahead with its answers. */
export class OpenCall extends AnswersAhead {
  readonly id: number;
  readonly batch: number;
  readonly model: string;
  /** Of the process's memory: the inputs lie there until the call has ended. */
  readonly block: number;
  readonly length: number;
  readonly isDecoupled: boolean;
  subscription: Subscription | undefined;
  isOver = false;
  answers = 0;

  constructor({ id, flags, block, length }: Frame, { batch, model }: CallHead) {
    super();
    this.id = id;
    this.batch = batch;
    this.model = model;
    this.block = block;
    this.length = length;
    this.isDecoupled = (flags & frameFlags.isDecoupled) !== 0;
  }

  override get isOpen(): boolean {
    return this.isOver || super.isOpen;
  }
}
