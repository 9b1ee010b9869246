import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';

type Key = (request: InferRequest) => string;

/** Shapes without the batch dimension, `-` for an input that is not there. */
const shapesKey = (names: readonly string[], firstAxis: number): Key => {
  if (names.length === 0) return () => '';
  return ({ inputs }) => {
    let key = '';
    for (const name of names) {
      const shape = inputs.get(name)?.shape;
      if (shape === undefined) {
        key += '-;';
        continue;
      }
      for (let axis = firstAxis; axis < shape.length; axis++) key += `${shape[axis]},`;
      key += ';';
    }
    return key;
  };
};

/** Which of the inputs are there. */
const presenceKey = (names: readonly string[]): Key => {
  if (names.length === 0) return () => '';
  return ({ inputs }) => {
    let key = '';
    for (const name of names) key += inputs.has(name) ? '+' : '-';
    return key;
  };
};

/** Values of different kinds differ: 1 is not the text `1`. */
const parameterKey = (name: string | undefined): Key => {
  if (name === undefined) return () => '';
  return ({ parameters }) => {
    const value = parameters.get(name);
    return value === undefined ? '' : `${typeof value} ${value}`;
  };
};

/**
 * Requests batch only with an equal key. It has
 * - the shapes, without the batch dimension, of the inputs that may vary and are neither ragged nor padded, unless the model takes unequal ones,
 * - where a model has optional inputs, which of them are there,
 * - the value of the parameter that the model groups by.
 * `''` for a model whose inputs are all fixed and required, without grouping.
 */
export const batchKey = ({ inputs, maxBatchSize, batchOptions }: Pick<ModelSpec, 'inputs' | 'maxBatchSize' | 'batchOptions'>): Key => {
  const { groupByParameter, unequalShapes, padding } = batchOptions;
  const mustBeEqual = inputs.filter(
    ({ name, allowRagged, reshape, dims }) =>
      !unequalShapes && !allowRagged && !padding?.inputs.includes(name) && (reshape ?? dims).includes(-1),
  );
  const shapes = shapesKey(
    mustBeEqual.map(({ name }) => name),
    maxBatchSize > 0 ? 1 : 0,
  );
  const presence = presenceKey(inputs.filter((input) => input.optional && !mustBeEqual.includes(input)).map(({ name }) => name));
  const parameter = parameterKey(groupByParameter);
  // The value comes last: whatever a client writes there cannot be read as a shape.
  return (request) => shapes(request) + presence(request) + parameter(request);
};
