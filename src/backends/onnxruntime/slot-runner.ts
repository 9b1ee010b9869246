import type { InferenceSession } from 'onnxruntime-node';
import { machineScheduler } from '../../streams/flow/clock.ts';
import { GrowingMemory } from '../workers/growing-memory.ts';
import { type BoundTensors, bindTensors, knownOutputShapes, placeOutputs } from './bound-tensors.ts';
import { type LoadedSession, reasonOf } from './load-session.ts';
import { ortTensor, wireLength, writeWire } from './ort-tensor.ts';
import { alignUp, highestRank, outputAreas, SlotMemory, type TensorPlace } from './slot-memory.ts';
import type { FromWorker, ModelPorts } from './worker-protocol.ts';

/** Sets of shapes for which tensors are kept; one more, and all are made anew. */
const keptShapes = 64;

/** The worker's side of a slot: runs the batch that lies in it and leaves the outputs there. */
export class SlotRunner {
  readonly #index: number;
  readonly #loaded: LoadedSession;
  readonly #ports: ModelPorts;
  readonly #slot: SlotMemory;
  readonly #post: (message: FromWorker) => void;
  readonly #inPlace = new GrowingMemory();
  readonly #copied = new GrowingMemory();
  readonly #bound = new Map<string | number, BoundTensors>();
  #shapes: readonly (readonly number[] | undefined)[];
  #inputs: Buffer<SharedArrayBuffer> = Buffer.from(new SharedArrayBuffer(0));

  constructor(index: number, shared: SharedArrayBuffer, ports: ModelPorts, loaded: LoadedSession, post: (message: FromWorker) => void) {
    this.#index = index;
    this.#loaded = loaded;
    this.#ports = ports;
    this.#slot = new SlotMemory(ports.inputs.length, ports.outputs.length, shared);
    this.#post = post;
    this.#shapes = knownOutputShapes(loaded.session, ports);
    this.#announce(outputAreas.inPlace, this.#inPlace);
    this.#announce(outputAreas.copied, this.#copied);
  }

  /** The main thread has made the inputs' memory anew. */
  useInputs(memory: SharedArrayBuffer): void {
    this.#inputs = Buffer.from(memory);
    this.#bound.clear();
  }

  /** Never rejects: what fails is the answer. */
  async run(): Promise<FromWorker> {
    if (this.#slot.cancelled) return this.#index;
    try {
      const bound = this.#bind();
      this.#readStrings(bound);
      const startMs = machineScheduler.now();
      const { results, inPlace } = await this.#execute(bound);
      this.#slot.runMs = machineScheduler.now() - startMs;
      this.#leaveOutputs(results, inPlace);
      return this.#index;
    } catch (error) {
      return { kind: 'run-failed', slot: this.#index, message: reasonOf(error) };
    }
  }

  #announce(area: number, memory: GrowingMemory): void {
    this.#post({ kind: 'outputs', slot: this.#index, area, memory: memory.shared });
  }

  #bind(): BoundTensors {
    const given = this.#ports.inputs.map((_, index) => this.#slot.input(index));
    // Shapes of inputs that are laid end to end do not tell how many rows there are.
    const key = `${this.#slot.rows};${given.map(({ dims }) => dims.join()).join(';')}`;
    const kept = this.#bound.get(key);
    const places = kept ?? placeOutputs(this.#ports, this.#shapes, this.#slot.rows);
    if (this.#inPlace.fit(places.sizeBytes)) {
      this.#announce(outputAreas.inPlace, this.#inPlace);
      this.#bound.clear();
    } else if (kept !== undefined) return kept;
    if (this.#bound.size === keptShapes) this.#bound.clear();
    const bound = bindTensors(this.#loaded.Tensor, this.#ports, given, this.#inputs, places, this.#inPlace.buffer);
    this.#bound.set(key, bound);
    return bound;
  }

  #readStrings({ feeds }: BoundTensors): void {
    for (const [index, { name, datatype }] of this.#ports.inputs.entries()) {
      if (datatype === 'BYTES') feeds[name] = ortTensor(this.#loaded.Tensor, datatype, this.#inputs, this.#slot.input(index));
    }
  }

  /**
   * A model may compute other shapes than its file says; then it cannot write in place, and ONNX Runtime fails the run for that alone. It
   * runs again without, and if that goes well, so does every later batch.
   */
  async #execute({ feeds, fetches, inPlace }: BoundTensors): Promise<Executed> {
    const { session } = this.#loaded;
    try {
      return { results: await session.run(feeds, fetches), inPlace };
    } catch (error) {
      if (inPlace.every((place) => place === undefined) || !/shape/i.test(reasonOf(error))) throw error;
      const results = await session.run(
        feeds,
        this.#ports.outputs.map(({ name }) => name),
      );
      this.#shapes = [];
      this.#bound.clear();
      return { results, inPlace: [] };
    }
  }

  #leaveOutputs(results: InferenceSession.ReturnType, inPlace: readonly (TensorPlace | undefined)[]): void {
    let sizeBytes = 0;
    const copies: [result: InferenceSession.ReturnType[string], place: TensorPlace][] = [];
    for (const [index, { name }] of this.#ports.outputs.entries()) {
      let place = inPlace[index];
      if (place === undefined) {
        const result = results[name];
        if (result === undefined) throw new Error(`the model gave no output '${name}'`);
        if (result.dims.length > highestRank)
          throw new Error(`output '${name}' has ${result.dims.length} dimensions, more than ${highestRank}`);
        place = { area: outputAreas.copied, start: alignUp(sizeBytes), byteLength: wireLength(result), dims: result.dims };
        sizeBytes = place.start + place.byteLength;
        copies.push([result, place]);
      }
      this.#slot.setOutput(index, place);
    }
    if (this.#copied.fit(sizeBytes)) this.#announce(outputAreas.copied, this.#copied);
    for (const [result, { start }] of copies) writeWire(result, this.#copied.buffer, start);
  }
}

interface Executed {
  readonly results: InferenceSession.ReturnType;
  readonly inPlace: readonly (TensorPlace | undefined)[];
}
