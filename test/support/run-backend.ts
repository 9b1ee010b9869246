import type { Subscription } from 'rxjs';
import type { Backend, Batch, Instance, Part } from '../../src/streams/inference/backend.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import { tensorValues } from '../../src/streams/tensors/tensor-values.ts';
import { makePlacement } from './model.ts';
import { collect } from './request-fixtures.ts';
import type { VirtualTime } from './virtual-time.ts';

export const noFiles = { modelName: 'm', modelDirectory: '/m', versionDirectory: '/m/1', modelFile: '' };

/** The instance of a backend that starts at once. Throws what it fails with. */
export const openInstance = (backend: Backend, spec: ModelSpec): Instance => {
  const { values, error } = collect(backend.open(noFiles, spec, makePlacement()));
  const [instance] = values;
  if (instance === undefined) throw error;
  return instance;
};

/** A batch on its way, and what is heard of it: `12: 0 OUT=5 IDX=1`, with ` last`, an error's message, `12: released`, `12: complete`. */
export interface Running {
  readonly batch: Batch;
  readonly heard: readonly string[];
  readonly subscription: Subscription;
}

const describePart = ({ of, outputs, isLast, error }: Part): string => {
  const tensors = [...outputs].map(([name, tensor]) => ` ${name}=${Array.from(tensorValues(tensor), String)}`).join('');
  return `${of}${tensors}${error === undefined ? '' : ` ${error.code} ${error.message}`}${isLast ? ' last' : ''}`;
};

export const runBatchOf = (instance: Instance, requests: readonly InferRequest[], time: VirtualTime): Running => {
  const heard: string[] = [];
  const say = (what: string): void => {
    heard.push(`${time.now()}: ${what}`);
  };
  const batch: Batch = {
    requests,
    rows: requests.map(() => 1),
    totalRows: requests.length,
    wholeInputs: new Map(),
    times: { inputEndMs: 0, outputStartMs: 0 },
    releaseInstance: () => say('released'),
  };
  const subscription = instance.run(batch).subscribe({
    next: (part) => say(describePart(part)),
    error: (error) => say(String(error)),
    complete: () => say('complete'),
  });
  return { batch, heard, subscription };
};
