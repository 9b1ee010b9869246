import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstValueFrom, type Observable, type Subscription } from 'rxjs';
import { afterEach } from 'vitest';
import { onnxruntimeBackend } from '../../../src/backends/onnxruntime/onnxruntime-backend.ts';
import { workersStopped } from '../../../src/backends/workers/workers-stopped.ts';
import type { Backend, Batch, Instance, ModelFiles, Part, Placement } from '../../../src/streams/inference/backend.ts';
import type { InferError } from '../../../src/streams/inference/error.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { makeLog, makePlacement } from '../../support/model.ts';
import { type ModelFolder, writeModel } from '../../support/onnx-models.ts';

export const cpu: Placement = makePlacement();

/** A model that runs: its instance, and what became of its life. */
export interface OpenModel {
  readonly instance: Instance;
  readonly life: Subscription;
  /** Resolves with the error in which the life ends. */
  readonly failure: Promise<InferError>;
}

/** What a test of the backend needs; all that it opened is closed after each test, and the workers are gone before the next. */
export const workbench = () => {
  const lives: Subscription[] = [];
  const folders: string[] = [];
  afterEach(async () => {
    for (const life of lives.splice(0)) life.unsubscribe();
    await workersStopped();
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });

  const log = makeLog();
  const backend: Backend = onnxruntimeBackend({ config: new Map(), log });

  const write = async (folder: ModelFolder): Promise<ModelFiles> => {
    const repository = await mkdtemp(join(tmpdir(), 'weir-onnx-'));
    folders.push(repository);
    const modelDirectory = await writeModel(repository, 'm', folder);
    return { modelName: 'm', modelDirectory, versionDirectory: join(modelDirectory, folder.version ?? '1'), modelFile: 'model.onnx' };
  };

  const open = (files: ModelFiles, spec: ModelSpec, placement = cpu): Promise<OpenModel> =>
    new Promise((resolve, reject) => {
      const failure = Promise.withResolvers<InferError>();
      const life = backend.open(files, spec, placement).subscribe({
        next: (instance) => resolve({ instance, life, failure: failure.promise }),
        error: (error: InferError) => {
          failure.resolve(error);
          reject(error);
        },
      });
      lives.push(life);
    });

  const openModel = async (onnx: Uint8Array, spec: ModelSpec): Promise<OpenModel> => open(await write({ onnx }), spec);

  return { backend, log, write, open, openModel };
};

/** Rows are those of the first input: right for models that batch. */
export const makeBatch = (requests: readonly InferRequest[], rows?: readonly number[]): Batch => {
  const counted = rows ?? requests.map(({ inputs }) => [...inputs.values()][0]?.shape[0] ?? 1);
  return {
    requests,
    rows: counted,
    totalRows: counted.reduce((sum, count) => sum + count, 0),
    wholeInputs: new Map(),
    times: { inputEndMs: 0, outputStartMs: 0 },
  };
};

/** The tensor on its own: what a part brings is gone after `next()`. */
const copyOf = ({ datatype, shape, bytes }: Tensor): Tensor => new Tensor(datatype, shape, Uint8Array.from(bytes));

/** Every part, by its request, with copies of its tensors. Rejects with the run's error. */
export const partsOf = (run: Observable<Part>): Promise<readonly Part[]> =>
  new Promise((resolve, reject) => {
    const parts: Part[] = [];
    run.subscribe({
      next: (part) => parts.push({ ...part, outputs: new Map([...part.outputs].map(([name, tensor]) => [name, copyOf(tensor)])) }),
      error: reject,
      complete: () => resolve(parts),
    });
  });

/** Runs a batch and answers with one output of each request, in the order of the requests. */
export const outputsOf = async (
  instance: Instance,
  requests: readonly InferRequest[],
  name = 'OUTPUT0',
): Promise<readonly (Tensor | undefined)[]> => {
  const parts = await partsOf(instance.run(makeBatch(requests)));
  return requests.map((_, of) => parts.find((part) => part.of === of)?.outputs.get(name));
};

export const firstInstance = (life: Observable<Instance>): Promise<Instance> => firstValueFrom(life);
