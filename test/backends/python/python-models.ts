import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { NEVER, type Subscription } from 'rxjs';
import { pythonBackend } from '../../../src/backends/python/python-backend.ts';
import { workersStopped } from '../../../src/backends/workers/workers-stopped.ts';
import type { Backend, Batch, Instance, ModelFiles, Part } from '../../../src/streams/inference/backend.ts';
import type { CustomMetrics } from '../../../src/streams/inference/custom-metrics.ts';
import { InferError, toInferError } from '../../../src/streams/inference/error.ts';
import type { ModelCalls } from '../../../src/streams/inference/model-calls.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { Parameters } from '../../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makeLog, makePlacement, makeRequest } from '../../support/model.ts';
import { inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';

/** The environment of the Python tests, which has numpy. */
export const environment = resolve(import.meta.dirname, '../../../.venv');

/** Without it these tests have nothing to run. */
export const hasPython = spawnSync(join(environment, 'bin', 'python'), ['-c', 'import numpy']).status === 0;

export const preamble = 'import numpy as np\nimport triton_python_backend_utils as pb_utils\n';

/** Calls that no test of a model without calls makes. */
export const noCalls: ModelCalls = { infer: () => NEVER, isReady: () => false, isDecoupled: () => false };

export const noMetrics: CustomMetrics = {
  family: () => {
    throw new InferError('INTERNAL', 'no metrics here');
  },
};

/** One input X and one output Y of FP32 [-1], without batching, run by the Python of the test environment. */
export const pythonSpec = (fields: Partial<ModelSpec> = {}): ModelSpec =>
  modelSpec({
    backend: 'python',
    inputs: [inputSpec('X', 'FP32', [-1])],
    outputs: [outputSpec('Y', 'FP32', [-1])],
    parameters: new Map([['EXECUTION_ENV_PATH', environment]]),
    ...fields,
  });

export interface PythonOptions {
  readonly spec?: Partial<ModelSpec>;
  readonly calls?: ModelCalls;
  readonly metrics?: CustomMetrics;
  readonly settings?: Readonly<Record<string, string>>;
  /** Files of the version folder beside `model.py`. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A model in a folder of its own. */
export class PythonModel {
  readonly folder: string;
  readonly files: ModelFiles;
  readonly spec: ModelSpec;
  readonly log = makeLog();
  readonly backend: Backend;
  readonly #lives: Subscription[] = [];

  constructor(folder: string, { spec, calls = noCalls, metrics = noMetrics, settings = {} }: PythonOptions) {
    this.folder = folder;
    this.spec = pythonSpec(spec);
    const modelDirectory = join(folder, 'm');
    this.files = { modelName: 'm', modelDirectory, versionDirectory: join(modelDirectory, '1'), modelFile: 'model.py' };
    this.backend = pythonBackend({ calls, metrics, settings: new Map(Object.entries(settings)), log: this.log });
  }

  /** One life; rejects with what keeps it from starting. `onEnd` is told when it ends later. */
  open(onEnd: (error: InferError) => void = () => undefined): Promise<Instance> {
    return new Promise((resolvePromise, reject) => {
      const life = this.backend.open(this.files, this.spec, makePlacement({ name: 'm_0_0' })).subscribe({
        next: resolvePromise,
        error: (error: unknown) => {
          reject(error);
          onEnd(toInferError(error));
        },
      });
      this.#lives.push(life);
    });
  }

  /** Ends every life, and resolves when no process is left. */
  async stop(): Promise<void> {
    for (const life of this.#lives.splice(0)) life.unsubscribe();
    await workersStopped();
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true });
  }
}

export const pythonModel = async (code: string, options: PythonOptions = {}): Promise<PythonModel> => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-python-test-'));
  const model = new PythonModel(folder, options);
  await mkdir(model.files.versionDirectory, { recursive: true });
  for (const [name, text] of Object.entries({ ...options.files, 'model.py': preamble + code })) {
    await writeFile(join(model.files.versionDirectory, name), text);
  }
  return model;
};

/** `class TritonPythonModel` with these methods, each indented by two. */
export const modelClass = (methods: string): string =>
  `class TritonPythonModel:\n${methods.replace(/^\n+/, '').replace(/\s+$/, '').replaceAll(/^/gm, '  ')}\n`;

/** A model of one method `execute`. */
export const executes = (body: string): string =>
  modelClass(`def execute(self, requests):\n${body.replace(/^\n+/, '').replace(/\s+$/, '').replaceAll(/^/gm, '  ')}`);

export const floats = (values: readonly number[], shape: readonly number[] = [values.length]): Tensor => tensorFrom('FP32', shape, values);

export const requestOf = (x: readonly number[], fields: Partial<InferRequest> = {}): InferRequest =>
  makeRequest({ inputs: new Map([['X', floats(x)]]), ...fields });

export const batchOf = (...requests: readonly InferRequest[]): Batch => ({
  requests,
  rows: requests.map(() => 1),
  totalRows: requests.length,
  wholeInputs: new Map(),
  times: { inputEndMs: 0, outputStartMs: 0 },
});

/** A part as a test compares it: its tensors' values, or its error. */
export interface SeenPart {
  readonly of: number;
  readonly outputs: Readonly<Record<string, readonly unknown[]>>;
  readonly isLast: boolean;
  readonly error?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly isRescheduled?: true;
}

const valuesOf = (tensor: Tensor): readonly unknown[] => {
  const values: readonly unknown[] = [...tensorValues(tensor)];
  return values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : value));
};

const parametersOf = (parameters: Parameters): Pick<SeenPart, 'parameters'> =>
  parameters.size === 0 ? {} : { parameters: Object.fromEntries(parameters) };

export const seen = ({ of, outputs, isLast, error, parameters, isRescheduled }: Part): SeenPart => ({
  of,
  outputs: Object.fromEntries([...outputs].map(([name, tensor]) => [name, valuesOf(tensor)])),
  isLast,
  ...(error === undefined ? {} : { error: `${error.code} ${error.message}` }),
  ...parametersOf(parameters),
  ...(isRescheduled === true ? { isRescheduled } : {}),
});

/** Everything that the instance answers; rejects with the error of the run. */
export const answers = (instance: Instance, batch: Batch): Promise<readonly SeenPart[]> =>
  new Promise((resolvePromise, reject) => {
    const parts: SeenPart[] = [];
    instance.run(batch).subscribe({ next: (part) => parts.push(seen(part)), error: reject, complete: () => resolvePromise(parts) });
  });

/** What one request gets back, in words where it failed. */
export const answer = async (instance: Instance, request: InferRequest): Promise<readonly unknown[] | string | undefined> => {
  const [part] = await answers(instance, batchOf(request));
  return part?.error ?? part?.outputs.Y;
};
