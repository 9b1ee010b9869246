import type { Subscriber } from 'rxjs';
import type { Batch, Part } from '../../streams/inference/backend.ts';
import { areas } from './batch-layout.ts';
import type { ModelPorts } from './model-ports.ts';
import { SlotInputs } from './slot-inputs.ts';
import { SlotState } from './slot-state.ts';

/** A batch under way. */
export interface Run {
  readonly batch: Batch;
  readonly subscriber: Subscriber<Part>;
  /** Where it lies, as long as the worker has it. */
  slot: Slot | undefined;
  /** Requests whose callers went before it had a slot. */
  readonly gone: number[];
}

/** The main thread's side of a slot. */
export class Slot {
  readonly index: number;
  readonly state = new SlotState();
  readonly inputs: SlotInputs;
  /** By area. */
  readonly memories: Buffer[] = [];
  words: Float64Array = new Float64Array(0);
  /** Undefined while the slot is free; a run that was cancelled stays until the worker gives the slot back. */
  run: Run | undefined;

  constructor(index: number, ports: ModelPorts) {
    this.index = index;
    this.inputs = new SlotInputs(ports);
  }

  /** The worker has made a memory anew. */
  use(area: number, memory: SharedArrayBuffer): void {
    if (area === areas.outputs) this.memories.length = area;
    if (area === areas.words) this.words = new Float64Array(memory);
    this.memories[area] = Buffer.from(memory);
  }
}
