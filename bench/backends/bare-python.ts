import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createSharedMemory, type SharedMemory } from '../../src/backends/python/shared-memory.ts';
import type { AskResult } from '../in-process/ask-loop.ts';
import { treeCpuMs } from '../measure/cpu-time.ts';

const frameBytes = 8;

/** A Python process that sends tensors back through shared memory: no server, no graph, no model. */
export class BarePython {
  readonly #child: ChildProcess;
  readonly #memory: SharedMemory;
  readonly #slotBytes: number;
  readonly #slots: number;
  #onSlot: (slot: number) => void = () => {};
  #rest: Buffer = Buffer.alloc(0);
  /** Slots to send at the end of the tick. */
  #asked: number[] = [];

  constructor(python: string, slotBytes: number, slots: number) {
    const name = `weir-bench-${process.pid}-${slotBytes}`;
    this.#memory = createSharedMemory(name, 2 * slotBytes * slots);
    this.#slotBytes = slotBytes;
    this.#slots = slots;
    const script = join(import.meta.dirname, 'bare_echo.py');
    this.#child = spawn(python, [script, `/dev/shm/${name}`, String(slotBytes), String(slots)], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdout?.on('data', (data: Buffer) => this.#read(data));
  }

  /** Keeps a tensor in flight in each slot for a while. Rejects for one that comes back as another. */
  async run(tensor: Buffer, measureMs: number): Promise<AskResult> {
    const [beganMs, beganCpuMs] = [performance.now(), treeCpuMs(process.pid)];
    let answered = 0;
    let open = this.#slots;
    await new Promise<void>((resolve, reject) => {
      this.#onSlot = (slot) => {
        const start = 2 * this.#slotBytes * slot + this.#slotBytes;
        const answer = this.#memory.buffer.subarray(start, start + this.#slotBytes);
        if (answered++ % 64 === 0 && !answer.equals(tensor)) reject(new Error('the echo is not what was sent'));
        if (performance.now() - beganMs < measureMs) this.#ask(slot, tensor);
        else if (--open === 0) resolve();
      };
      for (let slot = 0; slot < this.#slots; slot++) this.#ask(slot, tensor);
    });
    return {
      wallUs: ((performance.now() - beganMs) * 1000) / answered,
      cpuUs: ((treeCpuMs(process.pid) - beganCpuMs) * 1000) / answered,
    };
  }

  async stop(): Promise<void> {
    this.#child.stdin?.end();
    await once(this.#child, 'exit');
    this.#memory.release();
  }

  #ask(slot: number, tensor: Buffer): void {
    tensor.copy(this.#memory.buffer, 2 * this.#slotBytes * slot);
    if (this.#asked.length === 0) queueMicrotask(() => this.#send());
    this.#asked.push(slot);
  }

  #send(): void {
    const frames = Buffer.alloc(frameBytes * this.#asked.length);
    for (const [place, slot] of this.#asked.entries()) {
      frames.writeUInt32LE(slot, frameBytes * place);
      frames.writeUInt32LE(this.#slotBytes, frameBytes * place + 4);
    }
    this.#asked = [];
    this.#child.stdin?.write(frames);
  }

  #read(data: Buffer): void {
    const whole = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    let at = 0;
    for (; at + frameBytes <= whole.length; at += frameBytes) this.#onSlot(whole.readUInt32LE(at));
    this.#rest = whole.subarray(at);
  }
}
