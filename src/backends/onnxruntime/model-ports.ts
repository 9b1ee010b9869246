import { InferError } from '../../streams/inference/error.ts';
import type { InputSpec, ModelSpec, TensorSpec } from '../../streams/inference/model-spec.ts';
import { highestRank } from './slot-memory.ts';
import type { ModelPorts, Port } from './worker-protocol.ts';

/**
 * The tensors that batches of a model bring and take, as the model itself has them.
 *
 * @throws InferError for what its config asks and onnxruntime-node cannot do
 */
export const modelPorts = (spec: ModelSpec): ModelPorts => {
  const batches = spec.maxBatchSize > 0;
  if (batches) for (const input of spec.inputs) refuseOptional(spec, input);
  const portOf = ({ name, datatype, dims, reshape }: TensorSpec): Port => {
    const shape = [...(batches ? [-1] : []), ...(reshape ?? dims)];
    if (datatype === 'BF16') throw cannotCarry(spec, `tensor '${name}' has datatype BF16`);
    if (shape.length > highestRank) throw cannotCarry(spec, `tensor '${name}' has more than ${highestRank} dimensions`);
    return { name, datatype, shape };
  };
  const inputs = spec.inputs.map(portOf);
  return {
    inputs: [...inputs.filter(({ datatype }) => datatype !== 'BYTES'), ...inputs.filter(({ datatype }) => datatype === 'BYTES')],
    outputs: spec.outputs.map(portOf),
    batches,
  };
};

const cannotCarry = (spec: ModelSpec, what: string): InferError =>
  new InferError('UNIMPLEMENTED', `unable to load model '${spec.name}', ${what}, which onnxruntime-node cannot carry`);

const refuseOptional = (spec: ModelSpec, { name, optional }: InputSpec): void => {
  if (!optional) return;
  throw new InferError(
    'INVALID_ARGUMENT',
    `unable to load model '${spec.name}', optional input '${name}' is not supported for models that support batching`,
  );
};
