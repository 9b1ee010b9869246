import { readdir } from 'node:fs/promises';
import type { Placement } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';

/** Rejects with INVALID_ARGUMENT when an instance asks for a GPU and the machine has no device node of one. */
export const requireGpu = async (spec: ModelSpec, placement: Placement): Promise<void> => {
  if (placement.kind !== 'GPU') return;
  const nodes = await readdir('/dev').catch(() => []);
  if (nodes.some((node) => /^nvidia\d+$/.test(node))) return;
  const group = spec.instanceGroups.find(({ name }) => placement.name === name || placement.name.startsWith(`${name}_`));
  throw new InferError(
    'INVALID_ARGUMENT',
    `instance group ${group?.name ?? placement.name} of model ${spec.name} has kind KIND_GPU but no GPUs are available`,
  );
};

/** What to do where ONNX Runtime's reason is that its CUDA provider is missing. */
export const cudaHint = (reason: string): string =>
  /cuda/i.test(reason)
    ? `${reason}. KIND_GPU needs CUDA 12, cuDNN 9 and ONNX Runtime's CUDA libraries; fetch the latter with: node node_modules/onnxruntime-node/script/install.js --onnxruntime-node-install=cuda12`
    : reason;
