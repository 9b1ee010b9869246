import type { Subscription } from 'rxjs';
import { machineScheduler } from '../../streams/flow/clock.ts';
import type { Instance, ModelFiles, Placement } from '../../streams/inference/backend.ts';
import type { CustomMetrics } from '../../streams/inference/custom-metrics.ts';
import { InferError, toInferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelCalls } from '../../streams/inference/model-calls.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { Interpreter } from './find-python.ts';
import { type Frame, frameFlags, fromProcess, toProcess } from './frames.ts';
import { inputNames, instanceStart } from './instance-start.ts';
import { ModelCaller } from './model-caller.ts';
import { ModelMetrics } from './model-metrics.ts';
import { ProcessMemory } from './process-memory.ts';
import { answerQuestion } from './process-questions.ts';
import { PythonInstance } from './python-instance.ts';
import { noFields, type PythonProcess } from './python-process.ts';
import type { PythonSettings } from './python-settings.ts';
import { startProcess } from './start-process.ts';
import { writeLog } from './write-log.ts';

/** What all instances of the backend share. */
export interface PythonBackendParts {
  readonly calls: ModelCalls;
  readonly metrics: CustomMetrics;
  readonly log: Log;
  readonly settings: PythonSettings;
}

export interface InstanceLifeConfig {
  readonly files: ModelFiles;
  readonly spec: ModelSpec;
  readonly placement: Placement;
  readonly interpreter: Interpreter;
  readonly parts: PythonBackendParts;
  readonly onReady: (instance: Instance) => void;
  /** It could not start or has died: once, and before the batches that it had fail. Not after `stop`. */
  readonly onFailed: (error: InferError) => void;
}

/** Between two questions to a model whether it is ready, and how long an answer may take. */
const checkPauseMs = 1000;
const longestCheckMs = 5000;

/** A process, its memory, the instance that stands for it and the calls that its model makes, from the start to the end. */
export class InstanceLife {
  readonly #config: InstanceLifeConfig;
  readonly #process: PythonProcess;
  readonly #memory: ProcessMemory;
  readonly #instance: PythonInstance;
  readonly #caller: ModelCaller;
  readonly #metrics: ModelMetrics;
  #isStarted = false;
  #isStopping = false;
  #isModelReady = true;
  #check: Subscription | undefined;
  #lastCheck = 0;

  constructor(config: InstanceLifeConfig) {
    this.#config = config;
    const { files, spec, placement, interpreter, parts } = config;
    const { settings, calls } = parts;
    const process = (): PythonProcess => this.#process;
    const started = startProcess({
      name: placement.name,
      interpreter,
      settings,
      log: parts.log,
      start: instanceStart(files, spec, placement, settings),
      onReady: (result) => this.#ready(result),
      onFrame: (frame, payload) => this.#take(frame, payload),
      onEnd: (error) => this.#end(error),
    });
    this.#process = started.process;
    this.#memory = new ProcessMemory({ settings, prefix: started.memoryPrefix, process });
    this.#metrics = new ModelMetrics(parts.metrics);
    this.#instance = new PythonInstance({
      name: placement.name,
      modelName: spec.name,
      isDecoupled: spec.decoupled,
      capacity: capacityOf(spec),
      inputs: inputNames(spec),
      memory: this.#memory,
      onAbandoned: (batch) => this.#caller.cancelOf(batch),
      isReady: () => this.#isModelReady,
    });
    this.#caller = new ModelCaller({
      calls,
      memory: this.#memory,
      process,
      callerFrom: (batch, model) => this.#instance.callerFrom(batch, model),
    });
  }

  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#check?.unsubscribe();
    this.#instance.stop();
    if (this.#isStarted) {
      this.#process.send({ ...noFields, kind: toProcess.stop });
      this.#process.endWithin(this.#config.parts.settings.timeoutMs);
    } else {
      this.#process.endWithin(0);
    }
  }

  #ready(result: unknown): void {
    if (this.#isStopping) return;
    this.#isStarted = true;
    try {
      this.#memory.arena.prepare();
    } catch (error) {
      this.#config.onFailed(toInferError(error));
      return;
    }
    if (typeof result === 'object' && result !== null && 'checks' in result && result.checks === true) this.#askSoon();
    this.#config.onReady(this.#instance);
  }

  #take(frame: Frame, payload: Buffer): void {
    if (!this.#instance.take(frame, payload) && !this.#memory.take(frame, payload)) this.#takeOther(frame, payload);
    // After the answers: their tensors may lie in the block.
    if (frame.freed > 0) {
      this.#caller.wasRead(frame.freed);
      this.#memory.arena.give(frame.freed);
    }
  }

  #takeOther(frame: Frame, payload: Buffer): void {
    const { parts } = this.#config;
    switch (frame.kind) {
      case fromProcess.call:
        this.#caller.start(frame);
        return;
      case fromProcess.taken:
        this.#caller.taken(frame);
        return;
      case fromProcess.cancelCall:
        this.#caller.cancel(frame.id);
        return;
      case fromProcess.log:
        writeLog(parts.log, frame.flags, payload.toString());
        return;
      case fromProcess.ask: {
        const answer = answerQuestion(payload.toString(), parts.calls, this.#metrics);
        // What wants no answer has no number.
        if (frame.id > 0) this.#process.sendText(toProcess.reply, frame.id, answer);
        return;
      }
      case fromProcess.metric:
        this.#changeMetric(frame, payload);
        return;
      case fromProcess.checked:
        if (frame.id !== this.#lastCheck) return;
        this.#isModelReady = (frame.flags & 1) !== 0;
        this.#askSoon();
        return;
      default:
        throw new InferError('INTERNAL', `a message of unknown kind ${frame.kind}`);
    }
  }

  #changeMetric({ id, flags }: Frame, payload: Buffer): void {
    try {
      this.#metrics.change(id, flags & ~frameFlags.inline, payload.readDoubleLE(0));
    } catch (error) {
      this.#config.parts.log.warning(`model instance '${this.#config.placement.name}': ${toInferError(error).message}`);
    }
  }

  #askSoon(): void {
    this.#check?.unsubscribe();
    if (!this.#isStopping) this.#check = machineScheduler.schedule(() => this.#ask(), checkPauseMs);
  }

  /** A model that works is asked when it has done so: its code runs one thing at a time. */
  #ask(): void {
    if (!this.#instance.isIdle) {
      this.#askSoon();
      return;
    }
    this.#lastCheck++;
    this.#process.send({ ...noFields, kind: toProcess.check, id: this.#lastCheck });
    this.#check = machineScheduler.schedule(() => {
      this.#isModelReady = !this.#instance.isIdle;
    }, longestCheckMs);
  }

  #end(error: InferError | undefined): void {
    const { onFailed, placement, interpreter, parts } = this.#config;
    this.#check?.unsubscribe();
    interpreter.release();
    const lost = error ?? new InferError('INTERNAL', `Stub process '${placement.name}' is not healthy.`, { reason: 'BACKEND' });
    if (error?.cause instanceof Error && this.#isStarted) parts.log.error(`model instance '${placement.name}': ${error.cause.message}`);
    if (!this.#isStopping) onFailed(lost);
    this.#caller.close();
    this.#instance.die(lost);
    this.#metrics.removeAll();
    this.#memory.release();
  }
}

/** A second batch lies ready only where it could not grow by waiting and no other instance could take it. */
const capacityOf = ({ dynamicBatching, sequenceBatching, decoupled, instanceGroups }: ModelSpec): number => {
  const instances = instanceGroups.reduce((sum, { count, gpus }) => sum + count * Math.max(1, gpus.length), 0);
  return dynamicBatching === undefined && sequenceBatching === undefined && !decoupled && instances <= 1 ? 2 : 1;
};
