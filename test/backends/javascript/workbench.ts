import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Subscription } from 'rxjs';
import { NEVER } from 'rxjs';
import { afterEach } from 'vitest';
import { javascriptBackend } from '../../../src/backends/javascript/javascript-backend.ts';
import { workersStopped } from '../../../src/backends/workers/workers-stopped.ts';
import type { Backend, Batch, Instance, ModelFiles, Part } from '../../../src/streams/inference/backend.ts';
import type { CustomMetrics } from '../../../src/streams/inference/custom-metrics.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { ModelCalls } from '../../../src/streams/inference/model-calls.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makeLog, makePlacement } from '../../support/model.ts';
import { inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';

/** A server in which there is no model to call. */
export const noCalls: ModelCalls = {
  infer: () => NEVER,
  isReady: () => false,
  isDecoupled: (name) => {
    throw new InferError('NOT_FOUND', `no model '${name}'`);
  },
};

export const noMetrics: CustomMetrics = {
  family: () => {
    throw new InferError('UNIMPLEMENTED', 'no metrics');
  },
};

/** FP32 IN to FP32 OUT, any number in a row, batches of up to 16 rows. */
export const floats: ModelSpec = modelSpec({
  maxBatchSize: 16,
  inputs: [inputSpec('IN', 'FP32', [-1])],
  outputs: [outputSpec('OUT', 'FP32', [-1])],
});

export const floatsOf = (values: readonly number[]): Tensor => tensorFrom('FP32', [1, values.length], values);

/** A model that runs: its instance, and what became of its life. */
export interface OpenModel {
  readonly instance: Instance;
  readonly life: Subscription;
  /** Resolves with the error in which the life ends. */
  readonly failure: Promise<InferError>;
}

interface OpenOptions {
  readonly spec?: ModelSpec;
  readonly calls?: ModelCalls;
  readonly metrics?: CustomMetrics;
  readonly name?: string;
}

/** What a test of the backend needs; all that it opened is closed after each test, and the workers are gone before the next. */
export const workbench = () => {
  const lives: Subscription[] = [];
  const folders: string[] = [];
  const log = makeLog();
  afterEach(async () => {
    for (const life of lives.splice(0)) life.unsubscribe();
    await workersStopped();
    log.lines.length = 0;
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });

  const backendOf = ({ calls = noCalls, metrics = noMetrics }: OpenOptions): Backend => javascriptBackend({ calls, metrics, log });

  /** A model's folder of files by their paths in its version's folder; one text alone is `model.ts`. */
  const write = async (given: string | Readonly<Record<string, string>>): Promise<ModelFiles> => {
    const modelDirectory = await mkdtemp(join(tmpdir(), 'weir-javascript-'));
    folders.push(modelDirectory);
    const versionDirectory = join(modelDirectory, '1');
    const files = typeof given === 'string' ? { 'model.ts': given } : given;
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(versionDirectory, path)), { recursive: true });
      await writeFile(join(versionDirectory, path), text);
    }
    const modelFile = Object.keys(files).find((path) => /^model\.[a-z]+$/.test(path)) ?? 'model.ts';
    return { modelName: 'm', modelDirectory, versionDirectory, modelFile };
  };

  const open = (files: ModelFiles, options: OpenOptions = {}, backend = backendOf(options)): Promise<OpenModel> =>
    new Promise((resolve, reject) => {
      const failure = Promise.withResolvers<InferError>();
      const { spec = floats, name = 'm_0' } = options;
      const life = backend.open(files, spec, makePlacement({ name })).subscribe({
        next: (instance) => resolve({ instance, life, failure: failure.promise }),
        error: (error: InferError) => {
          failure.resolve(error);
          reject(error);
        },
      });
      lives.push(life);
    });

  /** A model of this code, which may leave the import of `weir/backend` out. */
  const openModel = async (code: string, options: OpenOptions = {}): Promise<OpenModel> =>
    open(await write(`import { defineModel, ModelError, perRequest } from 'weir/backend';\n${code}`), options);

  return { log, backendOf, write, open, openModel };
};

/** Rows are those of the first input. */
export const makeBatch = (requests: readonly InferRequest[], fields: Partial<Batch> = {}): Batch => {
  const rows = requests.map(({ inputs }) => [...inputs.values()][0]?.shape[0] ?? 1);
  return {
    requests,
    rows,
    totalRows: rows.reduce((sum, count) => sum + count, 0),
    wholeInputs: new Map(),
    times: { inputEndMs: 0, outputStartMs: 0 },
    ...fields,
  };
};

/** What a run brought, read within `next()`. */
export interface Outcome {
  readonly parts: readonly Part[];
  readonly error: InferError | undefined;
}

const copyOf = ({ datatype, shape, bytes }: Tensor): Tensor => new Tensor(datatype, shape, Uint8Array.from(bytes));

export const outcomeOf = (instance: Instance, batch: Batch): Promise<Outcome> =>
  new Promise((resolve) => {
    const parts: Part[] = [];
    instance.run(batch).subscribe({
      next: (part) => parts.push({ ...part, outputs: new Map([...part.outputs].map(([name, tensor]) => [name, copyOf(tensor)])) }),
      error: (error: InferError) => resolve({ parts, error }),
      complete: () => resolve({ parts, error: undefined }),
    });
  });

const readable = (tensor: Tensor): readonly unknown[] => (tensor.datatype === 'BYTES' ? tensorStrings(tensor) : [...tensorValues(tensor)]);

/** `0 OUT [1,2]: 1,2`, or `0 INTERNAL: words`; with `…` behind a part that is not the last. */
export const describePart = ({ of, outputs, error, isLast, isRescheduled }: Part): string => {
  const tensors = [...outputs].map(([name, tensor]) => `${name} [${tensor.shape.join(',')}]: ${readable(tensor).join(',')}`);
  const what = error === undefined ? tensors.join('; ') : `${error.code}: ${error.message}`;
  return `${of} ${what}${isRescheduled ? ' again' : ''}${isLast ? '' : '…'}`;
};

/** Every part of a run, and the error in which it ended. */
export const runOf = async (instance: Instance, batch: Batch): Promise<readonly string[]> => {
  const { parts, error } = await outcomeOf(instance, batch);
  return [...parts.map(describePart), ...(error === undefined ? [] : [`${error.code}: ${error.message}`])];
};
