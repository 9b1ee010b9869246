import { join } from 'node:path';
import { NEVER } from 'rxjs';
import { identityBackend } from '../../../src/backends/identity/identity-backend.ts';
import type { PreparedVersion } from '../../../src/repository/prepare-version.ts';
import { prepareVersion } from '../../../src/repository/prepare-version.ts';
import { readModel } from '../../../src/repository/read-model.ts';
import type { Backend, ModelSignature, SignatureTensor } from '../../../src/streams/inference/backend.ts';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import { makeLog } from '../../support/model.ts';
import type { Files } from './folders.ts';
import { folderOf } from './folders.ts';

/** A backend of ONNX files that all have these inputs and outputs. It opens nothing. */
export const describedBackend = (signature: ModelSignature): Backend => ({
  name: 'onnxruntime',
  needsModelFile: true,
  gathers: true,
  answersMany: false,
  describe: async () => signature,
  open: () => NEVER,
});

/** Takes requests one by one, and reads what it is told of their batch. It opens nothing. */
const reader: Backend = {
  name: 'reader',
  needsModelFile: false,
  gathers: false,
  answersMany: false,
  describe: () => Promise.resolve(undefined),
  open: () => NEVER,
};

/** Makes one tensor of those of a batch, and knows no more of a model than its config says. It opens nothing. */
const gatherer: Backend = { ...reader, name: 'gatherer', gathers: true };

export const tensor = (name: string, datatype: Datatype, ...shape: number[]): SignatureTensor => ({ name, datatype, shape });

/** A, B → C, of FP32 [N,4] each. */
export const batchable: ModelSignature = {
  inputs: [tensor('A', 'FP32', -1, 4), tensor('B', 'FP32', -1, 4)],
  outputs: [tensor('C', 'FP32', -1, 4)],
};

export interface Preparation {
  readonly config?: string;
  readonly signature?: ModelSignature;
  readonly autoComplete?: boolean;
  readonly gpus?: readonly number[];
  /** Files of the model's folder, instead of an ONNX file in version 1. */
  readonly files?: Files;
  readonly name?: string;
  readonly rateLimit?: 'off' | 'execution_count';
}

/** Prepares the newest version of a model that lies on disk. Rejects with what is wrong with it. */
export const prepare = async (preparation: Preparation): Promise<PreparedVersion> => {
  const {
    config,
    signature = batchable,
    autoComplete = true,
    gpus = [],
    files = { '1/model.onnx': '' },
    name = 'm',
    rateLimit = 'off',
  } = preparation;
  const all = { ...files, ...(config === undefined ? {} : { 'config.pbtxt': config }) };
  const root = await folderOf(Object.fromEntries(Object.entries(all).map(([path, content]) => [`${name}/${path}`, content])));
  const model = await readModel({ name, directory: join(root, name) }, { autoComplete, log: makeLog() });
  return prepareVersion(model, model.versions.at(-1) ?? '', {
    backends: new Map([
      ['onnxruntime', describedBackend(signature)],
      ['identity', identityBackend()],
      ['reader', reader],
      ['gatherer', gatherer],
    ]),
    autoComplete,
    gpus,
    defaultMaxQueueSize: 100,
    defaultMaxBatchSize: () => 4,
    rateLimit,
  });
};
