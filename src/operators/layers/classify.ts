import { map, throwError } from 'rxjs';
import { InferError } from '../../streams/inference/error.ts';
import type { Layer } from '../../streams/inference/infer.ts';
import type { ModelSpec, OutputSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import { encodeBytesElements } from '../../streams/tensors/bytes-elements.ts';
import type { Datatype } from '../../streams/tensors/datatype.ts';
import { elementCount } from '../../streams/tensors/shape.ts';
import { Tensor } from '../../streams/tensors/tensor.ts';
import { typedView } from '../../streams/tensors/typed-view.ts';
import { formatClassValue } from './format-class-value.ts';
import { topIndices } from './top-indices.ts';

/** Triton's bound on the elements of one batch item. */
const mostElements = 1_000_000;

/**
 * Triton's classification extension: an output that is requested with `classification: n` is answered as a BYTES tensor of its n highest values, or
 * of all where it has fewer, highest first, as `value:index`, or `value:index:label` where the model has a label for that index. Its
 * shape is [classes], or [batch, classes] where the model batches; all other dimensions are taken as one. An output without elements has no
 * classes. INVALID_ARGUMENT for datatypes that have no order, before the model runs, and for more than 1,000,000 elements.
 */
export const classify = (spec: ModelSpec): Layer => {
  const isBatching = spec.maxBatchSize > 0;
  const specs = new Map(spec.outputs.map((output) => [output.name, output]));
  return (next) => (request) => {
    const asked = classesAsked(request);
    if (asked === undefined) return next(request);
    for (const name of asked.keys()) {
      const datatype = specs.get(name)?.datatype;
      if (datatype !== undefined && !isClassifiable(datatype)) return throwError(() => unsupported(datatype));
    }
    return next(request).pipe(map((response) => withClasses(response, asked, specs, isBatching)));
  };
};

/** How many classes of which outputs; undefined when the request asks for none. The first mention of an output counts. */
const classesAsked = ({ outputs }: InferRequest): ReadonlyMap<string, number> | undefined => {
  let asked: Map<string, number> | undefined;
  for (const { name, classification } of outputs) {
    if (classification === 0) continue;
    asked ??= new Map();
    if (!asked.has(name)) asked.set(name, classification);
  }
  return asked;
};

type ClassifiableDatatype = Exclude<Datatype, 'BYTES' | 'BOOL' | 'FP16' | 'BF16'>;

const isClassifiable = (datatype: Datatype): datatype is ClassifiableDatatype =>
  datatype !== 'BYTES' && datatype !== 'BOOL' && datatype !== 'FP16' && datatype !== 'BF16';

const unsupported = (datatype: Datatype): InferError =>
  new InferError('INVALID_ARGUMENT', `class result not available for output due to unsupported type '${datatype}'`);

const withClasses = (
  response: InferResponse,
  asked: ReadonlyMap<string, number>,
  specs: ReadonlyMap<string, OutputSpec>,
  isBatching: boolean,
): InferResponse => {
  const outputs = new Map(response.outputs);
  for (const [name, wanted] of asked) {
    const tensor = outputs.get(name);
    if (tensor !== undefined) outputs.set(name, classesOf(tensor, wanted, specs.get(name)?.labels ?? [], isBatching));
  }
  return { ...response, outputs };
};

const classesOf = (tensor: Tensor, wanted: number, labels: readonly string[], isBatching: boolean): Tensor => {
  const { datatype, shape, buffer, start, end } = tensor;
  if (!isClassifiable(datatype)) throw unsupported(datatype);
  const rows = isBatching ? (shape[0] ?? 1) : 1;
  const perRow = elementCount(isBatching ? shape.slice(1) : shape);
  if (perRow > mostElements) throw new InferError('INVALID_ARGUMENT', 'classification output tensor too large');
  const values = typedView(datatype, buffer, start, end);
  const kind = datatype === 'FP32' || datatype === 'FP64' ? 'float' : 'integer';
  const classes: string[] = [];
  for (let row = 0; row < rows; row++) {
    const first = row * perRow;
    for (const index of topIndices(values, first, perRow, wanted)) {
      // An empty line of the label file labels nothing.
      const label = labels[index] ?? '';
      const value = formatClassValue(values[first + index] ?? Number.NaN, kind);
      classes.push(label === '' ? `${value}:${index}` : `${value}:${index}:${label}`);
    }
  }
  const count = Math.min(wanted, perRow);
  return new Tensor('BYTES', isBatching ? [rows, count] : [count], encodeBytesElements(classes));
};
