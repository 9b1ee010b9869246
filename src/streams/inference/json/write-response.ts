import { BytesLayoutError } from '../../tensors/bytes-elements.ts';
import { elementByteSize } from '../../tensors/datatype.ts';
import { JsonValueError } from '../../tensors/json-value-error.ts';
import { writeJsonValues } from '../../tensors/json-values.ts';
import { elementCount } from '../../tensors/shape.ts';
import type { Tensor } from '../../tensors/tensor.ts';
import { InferError } from '../error.ts';
import type { ParameterValue } from '../parameters.ts';
import type { InferResponse } from '../response.ts';
import { isRenderedBinary, type Rendering } from './rendering.ts';

type ExtraParameters = Readonly<Record<string, ParameterValue>>;

const noExtraParameters: ExtraParameters = {};

interface WrittenResponse {
  /** The JSON part. */
  readonly head: string;
  /** Tensors whose bytes follow it, in this order; those without bytes are left out. */
  readonly tensors: readonly Tensor[];
}

/**
 * An answer as HTTP bodies and WebSocket messages have it. The head is complete when this returns; the tensors are still the response's own.
 * `extraParameters` follow the model's.
 *
 * @throws InferError
 */
export const writeResponse = (
  response: InferResponse,
  rendering: Rendering,
  extraParameters: ExtraParameters = noExtraParameters,
): WrittenResponse => {
  let head = response.id === '' ? '{' : `{"id":${JSON.stringify(response.id)},`;
  head += `"model_name":${JSON.stringify(response.modelName)},"model_version":"${response.modelVersion}"`;
  if (response.parameters.size > 0 || extraParameters !== noExtraParameters) {
    const all = [...response.parameters, ...Object.entries(extraParameters)];
    head += `,"parameters":{${all.map(([name, value]) => `${JSON.stringify(name)}:${parameterText(value)}`).join(',')}}`;
  }
  head += ',"outputs":[';
  const tensors: Tensor[] = [];
  let separator = '';
  for (const [name, tensor] of response.outputs) {
    head += `${separator}{"name":${JSON.stringify(name)},"datatype":"${tensor.datatype}","shape":[${tensor.shape.join(',')}],`;
    separator = ',';
    if (!isRenderedBinary(rendering, name)) {
      head += `"data":${dataText(name, tensor)}}`;
      continue;
    }
    head += `"parameters":{"binary_data_size":${tensor.byteLength}}}`;
    if (tensor.byteLength > 0) tensors.push(tensor);
  }
  return { head: `${head}]}`, tensors };
};

/** Doubles are told from integers by a point or an exponent; NaN and the infinities are Triton's bare tokens. */
const parameterText = (value: ParameterValue): string => {
  if (typeof value === 'string') return JSON.stringify(value);
  const text = String(value);
  return typeof value === 'number' && Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
};

const dataText = (name: string, tensor: Tensor): string => {
  const { datatype } = tensor;
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw new InferError(
      'INVALID_ARGUMENT',
      `sending ${datatype} data via JSON is not supported. Please use the binary data format for output ${name}`,
    );
  }
  if (datatype !== 'BYTES' && tensor.byteLength !== elementCount(tensor.shape) * elementByteSize(datatype)) throw sizeMismatch(name);
  try {
    return writeJsonValues(tensor);
  } catch (error) {
    if (error instanceof BytesLayoutError) throw sizeMismatch(name);
    if (!(error instanceof JsonValueError)) throw error;
    throw new InferError('INVALID_ARGUMENT', `${error.message}. Please use the binary data format for output ${name}`, { cause: error });
  }
};

const sizeMismatch = (name: string): InferError =>
  new InferError('INTERNAL', `output tensor shape does not match size of output for '${name}'`);
