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
  /** Requests whose callers have gone. */
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
  /** Answers of a generator that were not emitted yet, because who asked has no room for them: where they lie. No more than a worker gives unread. */
  readonly held: number[] = [];
  /** What comes after those. */
  end: ((slot: Slot) => void) | undefined;
  /** When the first of them began to wait; 0 while none does. */
  heldSinceMs = 0;
  isEmitting = false;
  /** Undefined while the slot is free; a run that was cancelled stays until the worker gives the slot back. */
  run: Run | undefined;

  /** Who asked has room again. */
  readonly onOpen: () => void;

  constructor(index: number, ports: ModelPorts, onOpen: () => void) {
    this.index = index;
    this.inputs = new SlotInputs(ports);
    this.onOpen = onOpen;
  }

  /** The worker has made a memory anew. */
  use(area: number, memory: SharedArrayBuffer): void {
    if (area === areas.outputs) this.memories.length = area;
    if (area === areas.words) this.words = new Float64Array(memory);
    this.memories[area] = Buffer.from(memory);
  }
}
