import type { ModelFiles, ModelSignature, SignatureTensor } from '../../streams/inference/backend.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { Log } from '../../streams/inference/log.ts';
import { StoppableWorker } from '../workers/stoppable-worker.ts';
import { workerScript } from '../workers/worker-script.ts';
import { modelPath } from './model-path.ts';
import type { DescribeAnswer, DescribeStart } from './worker-protocol.ts';

/**
 * Inputs and outputs of a model, as ONNX Runtime reads its file in a worker of its own. An output that is no tensor is left out with a
 * warning: the model can be served without it. An input that is none makes it reject.
 *
 * Rejects with an InferError: UNAVAILABLE without a file, UNIMPLEMENTED for what onnxruntime-node cannot carry, INTERNAL with ONNX Runtime's
 * reason for a file that it refuses.
 */
export const describeModel = async (files: ModelFiles, log: Log): Promise<ModelSignature> => {
  const answer = await askWorker({ path: await modelPath(files) }, files.modelName);
  if (answer.kind === 'not-loaded') throw new InferError(answer.code, `unable to load model '${files.modelName}': ${answer.message}`);
  const inputs = answer.inputs.map((input): SignatureTensor => {
    if (input.tensor !== undefined) return input.tensor;
    throw new InferError('UNIMPLEMENTED', `unable to load model '${files.modelName}': input ${input.why}`);
  });
  const outputs = answer.outputs.flatMap((output): readonly SignatureTensor[] => {
    if (output.tensor !== undefined) return [output.tensor];
    log.warning(`model '${files.modelName}' is served without one of its outputs: ${output.why}`);
    return [];
  });
  return { inputs, outputs };
};

const askWorker = (data: DescribeStart, modelName: string): Promise<DescribeAnswer> =>
  new Promise((resolve, reject) => {
    const worker = new StoppableWorker<never, DescribeAnswer>({
      script: workerScript('describe-worker', import.meta.url),
      name: `describe ${modelName}`,
      data,
      onMessage: (answer) => {
        worker.leave();
        worker.stop();
        resolve(answer);
      },
      onDeath: (reason) => reject(new InferError('INTERNAL', `unable to load model '${modelName}': ${reason.message}`, { cause: reason })),
    });
    worker.enter();
  });
